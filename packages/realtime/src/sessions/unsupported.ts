import { ProtocolError } from '../events/protocol-error.ts'

/** Parameters of the protocol that have one supported value here, as a default: `null` is always one. */
const ONLY: Readonly<Record<string, readonly unknown[]>> = {
  tool_choice: ['auto'],
  parallel_tool_calls: [true],
  max_output_tokens: ['inf'],
  prompt: [],
  reasoning: [],
  truncation: ['auto'],
  noise_reduction: [],
  speed: [1],
  idle_timeout_ms: []
}

/**
 * Refuses values of the protocol that have no effect here, instead of ignoring them.
 * @param path of the object, such as `session.audio.input`
 * @throws ProtocolError
 */
export function requireSupported(
  given: Readonly<Record<string, unknown>> | null | undefined,
  path: string
): void {
  for (const [name, value] of Object.entries(given ?? {})) {
    const supported = Object.hasOwn(ONLY, name) ? ONLY[name] : undefined
    if (supported === undefined || value === null || supported.includes(value)) continue
    const values = [...supported.map((each) => JSON.stringify(each)), 'null'].join(' or ')
    throw unsupported(`${path}.${name}`, `Only ${values} is supported`)
  }
}

/** The error for a value of the protocol that is not supported. */
export function unsupported(param: string, reason: string): ProtocolError {
  return new ProtocolError('unsupported_value', `Unsupported value of '${param}'. ${reason}.`, param)
}
