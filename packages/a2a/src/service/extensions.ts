import { A2A_ERR_EXTENSION_REQUIRED } from '../errors.ts'
import type { AgentExtension } from '../model/agent-card.ts'
import type { Answer, Caller } from '../model/requests.ts'

const NONE: readonly string[] = Object.freeze([])

/** Activates the declared extensions that a request names, and names them in the answer. */
export function activateExtensions(
  declared: readonly AgentExtension[],
  header: string,
  { headers }: Pick<Caller, 'headers'>,
  answer: Answer
): readonly string[] {
  if (declared.length === 0) return NONE
  const given = headers[header]
  if (given === undefined) return NONE
  const named = new Set(
    String(given)
      .split(',')
      .map((each) => each.trim())
  )
  const active = declared.map(({ uri }) => uri).filter((uri) => named.has(uri))
  if (active.length > 0) answer.header(header, active.join(', '))
  return active
}

/** Checks that the required extensions are active. @throws A2A_ERR_EXTENSION_REQUIRED */
export function requireExtensions(declared: readonly AgentExtension[], active: readonly string[]): void {
  const missing = declared.filter(({ uri, required }) => required === true && !active.includes(uri))
  if (missing.length === 0) return
  const requiredExtensions = missing.map(({ uri }) => uri).join(', ')
  throw Object.assign(new A2A_ERR_EXTENSION_REQUIRED(requiredExtensions), {
    metadata: { requiredExtensions }
  })
}
