import { setTimeout as pause } from 'node:timers/promises'
import { isExposed, type Awaitable, type RunContext, type Usage } from '@svc/contract'
import { errors, type ModelRequest } from '@svc/runtime'
import {
  hasMethods,
  resolveChoice,
  retryDelay,
  toModelFault,
  type Guard,
  type ModelFault
} from '@svc/runtime/loop'

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
 * @throws the reason of the signal, an error without text of the provider, or `err` itself if it is exposed
 */
export async function awaitRetry(
  err: unknown,
  { attempt, signal, onFault }: { attempt: number; signal: AbortSignal; onFault: ModelReport['onFault'] }
): Promise<void> {
  signal.throwIfAborted()
  const isBroken = err instanceof errors.RUN_ERR_MODEL_STREAM_BROKEN
  if (!isBroken && isExposed(err)) throw err as Error
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
  let failure: unknown = new errors.RUN_ERR_MODEL_STREAM_BROKEN()
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

/** A model, or a function that returns the one of a call, e.g. with the caller's own key. */
export type ModelOfCall<M> = M | ((request: ModelRequest) => Awaitable<M>)

/** A kind of model. */
export interface ModelKind {
  /** The option. */
  readonly option: string
  /** The method of providers that makes them. */
  readonly maker: string
  /** How to make one, for errors. */
  readonly example: string
}

export const SPEECH: ModelKind = {
  option: 'speak',
  maker: 'speech',
  example: 'openai.speech("gpt-4o-mini-tts")'
}

export const TRANSCRIPTION: ModelKind = {
  option: 'listen',
  maker: 'transcription',
  example: 'openai.transcription("gpt-4o-mini-transcribe")'
}

const VERSIONS: ReadonlySet<unknown> = new Set(['v2', 'v3', 'v4'])

/**
 * Prepares the option of a transcription or speech model for the calls of an agent.
 * @param provider whose key a model function gets
 * @throws RUN_ERR_BAD_MODEL for anything but a model or a function, such as the id of a model
 */
export function resolveVoiceModel<M extends object>(
  model: ModelOfCall<M>,
  kind: ModelKind,
  provider: string | undefined
): (context: RunContext) => Awaitable<M> {
  // Providers of the AI SDK are functions with methods.
  if (hasMethods(model, [kind.maker])) throw bad(kind, 'the provider itself')
  return resolveChoice(model, provider, (chosen) => requireVoiceModel(chosen, kind))
}

function requireVoiceModel<M>(model: M, kind: ModelKind): M {
  if (model === undefined || model === null) throw bad(kind, 'none was given')
  if (typeof model === 'string') throw bad(kind, 'a string')
  if (!hasMethods(model, ['doGenerate'])) throw bad(kind, 'it has no doGenerate')
  const version = (model as { specificationVersion?: unknown }).specificationVersion
  if (VERSIONS.has(version)) return model
  throw bad(kind, `specification version ${String(version)}; v2, v3 and v4 are known`)
}

function bad({ option, example }: ModelKind, fault: string): Error {
  return new errors.RUN_ERR_BAD_MODEL(`${option}: ${fault}; pass the model itself, e.g. ${example}`)
}

/** The transcription of one turn of the user, from its first audio. */
export interface TurnTranscription {
  /** Takes audio of the turn. The samples belong to the transcription. */
  push(samples: Int16Array): void
  /** The audio is complete. */
  end(): void
  /** Transcribes an audio file instead. */
  read(audio: Uint8Array, mimeType: string): void
  /** Ends it: nothing more is reported. */
  stop(): void
}

/** What a transcription reports: once `final` words, or a failure. */
export interface TranscriptionHost {
  /** @param language BCP 47 */
  words(text: string, final: boolean, language?: string): void
  /** RUN_ERR_MODEL_…, VOICE_ERR_TRANSCRIPTION_TIMEOUT */
  fail(error: unknown): void
}

/** Begins the transcription of a turn. */
export type OpenTranscription = (host: TranscriptionHost) => TurnTranscription

/** The words of a turn. */
export interface Transcript {
  readonly text: string
  /** BCP 47. */
  readonly language?: string | undefined
}

/** A transcript as a provider returns it; a language that is no text is none. @throws TypeError if its text is none */
export function toTranscript(text: string, language: unknown): Transcript {
  return { text: text.trim(), language: typeof language === 'string' ? language : undefined }
}
