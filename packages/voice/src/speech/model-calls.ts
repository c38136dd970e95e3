import { setTimeout as pause } from 'node:timers/promises'
import { isTellable, type Usage } from '@svc/contract'
import { RUN_ERR_MODEL_STREAM_BROKEN } from '@svc/runtime'
import { retryDelay, toModelFault, type Guard, type ModelFault } from '@svc/runtime/loop'

/** What the calls of the models of a voice call report. */
export interface ModelReport {
  /** A call of a model failed; it may be repeated. */
  onFault(fault: ModelFault): void
  /** Tokens of a call, where the provider counts tokens. */
  onUsage(usage: Usage): void
}

/** The user waits: fewer and faster attempts than those of language models. */
const RETRY = { attempts: 2, baseDelay: 200, maxDelay: 1_000 }

/**
 * Waits before the next attempt of a failed call of a model.
 * @throws the reason of the signal, an error without text of the provider, or `err` itself if it is tellable
 */
export async function awaitRetry(
  err: unknown,
  { attempt, signal, onFault }: { attempt: number; signal: AbortSignal; onFault: ModelReport['onFault'] }
): Promise<void> {
  signal.throwIfAborted()
  const isBroken = err instanceof RUN_ERR_MODEL_STREAM_BROKEN
  if (!isBroken && isTellable(err)) throw err as Error
  const fault = isBroken ? { error: err, transient: true, details: {} } : toModelFault(err)
  onFault(fault)
  const delay = retryDelay(fault, attempt, RETRY)
  if (delay === undefined) throw fault.error
  await pause(delay, undefined, { signal })
}

/** Settles like the promise, or ends the guard with `late` after `ms` milliseconds. */
export async function waitWithin<T>(
  guard: Guard,
  ms: number,
  late: Error,
  promise: PromiseLike<T>
): Promise<T> {
  const timer = setTimeout(() => guard.end(late), ms)
  try {
    return await guard.wait(promise)
  } finally {
    clearTimeout(timer)
  }
}

/** True for the error of models that stream by their type, but not by their id. */
export function isUnsupported(err: unknown): boolean {
  return (err as Error | undefined)?.name === 'AI_UnsupportedFunctionalityError'
}

/**
 * Reads the parts of a stream, up to `finish`.
 * @param wait awaits the next part
 * @throws RUN_ERR_MODEL_STREAM_BROKEN if it ends without `finish`, or the error that it has reported before
 */
export async function* readStream<P extends { readonly type: string }>(
  stream: ReadableStream<P>,
  wait: <T>(reading: Promise<T>) => Promise<T>
): AsyncGenerator<Exclude<P, ErrorPart>, void> {
  const reader = stream.getReader()
  let failure: unknown = new RUN_ERR_MODEL_STREAM_BROKEN()
  try {
    for (;;) {
      const { done, value: part } = await wait(reader.read())
      if (done) throw failure
      if (isError(part)) failure = part.error
      else yield part as Exclude<P, ErrorPart>
      if (part.type === 'finish') return
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}

/** Reports the tokens of a usage, if it has any. */
export function reportUsage({ onUsage }: Pick<ModelReport, 'onUsage'>, usage: object | undefined): void {
  const tokens = toTokenUsage(usage)
  if (tokens !== undefined) onUsage(tokens)
}

interface ErrorPart {
  readonly type: 'error'
  readonly error: unknown
}

function isError(part: { readonly type: string }): part is ErrorPart {
  return part.type === 'error'
}

// Counts of tokens in a usage whose shape is the provider's own; undefined if it has none.
function toTokenUsage(usage: object | undefined): Usage | undefined {
  const count = (...names: string[]) => {
    const counts = names.map((name) => (usage as Record<string, unknown>)[name])
    return counts.find((value) => typeof value === 'number' && Number.isFinite(value)) as number | undefined
  }
  if (usage === undefined || usage === null) return undefined
  const promptTokens = count('inputTokens', 'input_tokens', 'promptTokenCount')
  const completionTokens = count('outputTokens', 'output_tokens', 'candidatesTokenCount')
  if (promptTokens === undefined && completionTokens === undefined) return undefined
  const [prompt, completion] = [promptTokens ?? 0, completionTokens ?? 0]
  return { promptTokens: prompt, completionTokens: completion, totalTokens: prompt + completion }
}
