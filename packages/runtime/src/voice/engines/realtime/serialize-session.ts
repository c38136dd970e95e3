import type { Awaitable } from '@svc/registry'
import { isPromise } from '@svc/registry/kit'
import { nameOfProvider } from '../../../models/model.ts'
import { isRecord } from '../../../schemas/plain-schema.ts'
import type { ClientEvent, SessionConfig } from './client-event.ts'

/** An event of a provider. */
export type Raw = Record<string, unknown>

/**
 * The event that sets a session up. Codecs replace whole objects by those of `providerOptions`, which would lose the voice; so the
 * options are merged here.
 */
export function serializeSession(
  provider: string,
  { providerOptions, ...config }: SessionConfig,
  serialize: (event: ClientEvent) => Awaitable<Raw | undefined>
): Awaitable<Raw | undefined> {
  const own = serialize({ type: 'session-update', config })
  if (own === undefined || isPromise(own)) return own
  leaveResponsesToUs(own)
  const name = nameOfProvider(provider)
  const options = providerOptions?.[name]
  if (options === undefined) return own
  const whole = serialize({
    type: 'session-update',
    config: { ...config, providerOptions: { [name]: options } }
  })
  return whole === undefined || isPromise(whole) ? whole : mergeDeep(own, withoutName(whole, name))
}

// The call decides when a turn is answered, and what interrupts an answer.
function leaveResponsesToUs(own: Raw): void {
  const { session } = own as { session?: { audio?: { input?: { turn_detection?: unknown } } } }
  const detection = session?.audio?.input?.turn_detection
  if (isRecord(detection)) Object.assign(detection, { create_response: false, interrupt_response: false })
}

// Most codecs put all options into the session as they are, with the name of their provider.
function withoutName(raw: Raw, name: string): Raw {
  const lift = (value: unknown) => {
    const options = isRecord(value) ? value[name] : undefined
    if (!isRecord(value) || !isRecord(options)) return value
    const { [name]: _, ...rest } = value
    return { ...rest, ...options }
  }
  return Object.fromEntries(Object.entries(raw).map(([key, value]) => [key, lift(value)]))
}

// Of two values that are not both records the second counts.
function mergeDeep(first: Raw, second: Raw): Raw {
  const merged = new Map(Object.entries(first))
  for (const [key, value] of Object.entries(second)) {
    const own = merged.get(key)
    merged.set(key, isRecord(own) && isRecord(value) ? mergeDeep(own, value) : value)
  }
  return Object.fromEntries(merged)
}
