import {
  createContext,
  createEventBus,
  createInProcessStores,
  type ContextOptions,
  type YieldedPart
} from '@svc/registry'

/** A context with its own stores and bus, and a log of everything. */
export function makeContext(options: ContextOptions = {}) {
  const logged: { level: string; details: Record<string, unknown>; message: string | undefined }[] = []
  const at = (level: string) => (details: object, message?: string) =>
    void logged.push({ level, details: { ...details }, message })
  const log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  const context = createContext({
    log,
    stores: createInProcessStores(),
    events: createEventBus(log),
    ...options
  })
  return { context, logged }
}

/** Collects the parts of a stream, and the error that ended it, if any. */
export async function collect(stream: AsyncIterable<YieldedPart>) {
  const parts: YieldedPart[] = []
  let error:
    | (Error & { code?: string; statusCode?: number; retryable?: boolean; retryAfter?: number })
    | undefined
  try {
    for await (const part of stream) parts.push(part)
  } catch (err) {
    error = err as Error
  }
  const types = parts.map((part) => part.type)
  const ofType = <T extends YieldedPart['type']>(type: T) =>
    parts.filter((part): part is Extract<YieldedPart, { type: T }> => part.type === type)
  const text = ofType('text')
    .map((part) => part.text)
    .join('')
  return { parts, types, ofType, text, error }
}
