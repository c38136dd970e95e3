import { setTimeout as wait } from 'node:timers/promises'
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { RUN_ERR_SCRIPT_OVER } from '../errors.ts'

/** How a stream plays its parts. */
export interface Playing {
  /** Milliseconds before each part. */
  delay?: number
  /** Error that breaks the stream after its parts. */
  breaks?: unknown
  /** `stream`: never ends, even after an abort. */
  hangs?: 'call' | 'stream'
}

/** Streams the parts; like those of a model, delays end when the signal aborts. */
function playParts(
  parts: readonly LanguageModelV4StreamPart[],
  { delay, breaks, hangs }: Playing,
  signal: AbortSignal | undefined
): ReadableStream<LanguageModelV4StreamPart> {
  const end = (controller: ReadableStreamDefaultController<LanguageModelV4StreamPart>) => {
    if (breaks !== undefined) controller.error(breaks)
    else if (hangs === undefined) controller.close()
  }
  if (delay === undefined && breaks === undefined) {
    return new ReadableStream({
      start(controller) {
        for (const part of parts) controller.enqueue(part)
        end(controller)
      }
    })
  }
  let next = 0
  return new ReadableStream(
    {
      async pull(controller) {
        if (delay !== undefined) await wait(delay, undefined, signal && { signal })
        const part = parts[next++]
        if (part === undefined) end(controller)
        else controller.enqueue(part)
      }
    },
    { highWaterMark: 0 }
  )
}

/** A tool call of a scripted turn. */
export interface ScriptedCall {
  toolName: string
  args?: unknown
  /** Raw text instead of `args`, for arguments that are not JSON. */
  input?: string
  /** Default `call-1`, `call-2`, … in the order of the script. */
  toolCallId?: string
}

/** One call of a scripted model. The fields apply in this order. */
export interface ScriptedTurn {
  /** Error that rejects the call. */
  rejects?: unknown
  reasoning?: string | readonly string[]
  /** A list is streamed chunk by chunk. */
  text?: string | readonly string[]
  toolCalls?: readonly ScriptedCall[]
  /** Default: 10 prompt tokens, and one completion token per chunk. */
  usage?: { promptTokens: number; completionTokens: number }
  /** Default: `tool-calls` if there are any, else `stop`. */
  finishReason?: 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'interrupted' | 'other'
  /** Milliseconds before each part. */
  delay?: number
  /** Error of an `error` part instead of a `finish`. */
  errorPart?: unknown
  /** Error that breaks the stream instead of a `finish`. */
  breaks?: unknown
  /** `call`: the call never resolves. `stream`: the stream never ends. Both ignore the signal. */
  hangs?: 'call' | 'stream'
  /** `false`: the stream ends without a `finish`. */
  finish?: boolean
  /** Raw stream parts, instead of all the above. */
  parts?: readonly LanguageModelV4StreamPart[]
}

/**
 * The script of a model: one text or turn for all calls, a list with one per call, or a function of the call. Calls beyond the
 * end of a list reject with RUN_ERR_SCRIPT_OVER.
 */
export type Script =
  | string
  | ScriptedTurn
  | readonly (string | ScriptedTurn)[]
  | ((options: LanguageModelV4CallOptions, index: number) => string | ScriptedTurn)

/** Returns the turn of each call. */
function toTurns(script: Script): (call: LanguageModelV4CallOptions, index: number) => ScriptedTurn {
  if (typeof script === 'function') return (call, index) => toTurn(script(call, index))
  if (!Array.isArray(script)) {
    const turn = toTurn(script as string | ScriptedTurn)
    return () => turn
  }
  const turns = (script as readonly (string | ScriptedTurn)[]).map(toTurn)
  return (_call, index) => {
    const turn = turns[index]
    if (turn === undefined) throw new RUN_ERR_SCRIPT_OVER(turns.length)
    return turn
  }
}

function toTurn(turn: string | ScriptedTurn): ScriptedTurn {
  return typeof turn === 'string' ? { text: turn } : turn
}

const cache = new WeakMap<ScriptedTurn, readonly LanguageModelV4StreamPart[]>()

/** Converts a turn to the parts of a model's stream; cached per turn. */
function toStreamParts(turn: ScriptedTurn): readonly LanguageModelV4StreamPart[] {
  let parts = cache.get(turn)
  if (parts === undefined) cache.set(turn, (parts = turn.parts ?? [...generate(turn)]))
  return parts
}

function* generate(turn: ScriptedTurn): Generator<LanguageModelV4StreamPart> {
  const reasoning = toChunks(turn.reasoning)
  const text = toChunks(turn.text)
  const { toolCalls = [] } = turn
  yield { type: 'stream-start', warnings: [] }
  if (reasoning.length > 0) {
    yield { type: 'reasoning-start', id: 'r' }
    for (const delta of reasoning) yield { type: 'reasoning-delta', id: 'r', delta }
    yield { type: 'reasoning-end', id: 'r' }
  }
  if (text.length > 0) {
    yield { type: 'text-start', id: 't' }
    for (const delta of text) yield { type: 'text-delta', id: 't', delta }
    yield { type: 'text-end', id: 't' }
  }
  for (const [index, { toolName, args = {}, input, toolCallId }] of toolCalls.entries()) {
    yield {
      type: 'tool-call',
      toolCallId: toolCallId ?? `call-${index + 1}`,
      toolName,
      input: input ?? JSON.stringify(args)
    }
  }
  if (turn.errorPart !== undefined) yield { type: 'error', error: turn.errorPart }
  else if (turn.breaks === undefined && turn.hangs === undefined && turn.finish !== false)
    yield toFinish(turn, text.length)
}

function toFinish(
  { finishReason, toolCalls = [], usage }: ScriptedTurn,
  chunks: number
): LanguageModelV4StreamPart {
  const { promptTokens, completionTokens } = usage ?? { promptTokens: 10, completionTokens: chunks }
  return {
    type: 'finish',
    finishReason: { unified: finishReason ?? (toolCalls.length > 0 ? 'tool-calls' : 'stop'), raw: undefined },
    usage: {
      inputTokens: { total: promptTokens, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: completionTokens, text: undefined, reasoning: undefined }
    }
  }
}

function toChunks(text: string | readonly string[] | undefined): readonly string[] {
  return text === undefined ? [] : typeof text === 'string' ? [text] : text
}

/** Options of a scripted model. */
export interface ScriptedModelOptions {
  provider?: string
  modelId?: string
  /** Records `calls`; default true. */
  record?: boolean
  /** Supported URLs by media type; default: all http and https URLs. */
  supportedUrls?: Record<string, RegExp[]>
}

/** A model that follows a script. */
export interface ScriptedModel extends LanguageModelV4 {
  /** The options of its calls so far. */
  readonly calls: LanguageModelV4CallOptions[]
}

const ALL_URLS = { '*/*': [/^https?:\/\//] }

/** Creates a model that follows a script: for tests, examples and benchmarks. */
export function scriptedModel(script: Script, options: ScriptedModelOptions = {}): ScriptedModel {
  const { provider = 'scripted', modelId = 'scripted', record = true, supportedUrls = ALL_URLS } = options
  const calls: LanguageModelV4CallOptions[] = []
  const turnAt = toTurns(script)
  let index = 0
  return {
    specificationVersion: 'v4',
    provider,
    modelId,
    supportedUrls,
    calls,
    doGenerate: () => Promise.reject(new Error('a scripted model only streams')),
    async doStream(call) {
      if (record) calls.push(call)
      const turn = turnAt(call, index++)
      if (turn.hangs === 'call') return new Promise<never>(() => {})
      if ('rejects' in turn) throw turn.rejects
      return { stream: playParts(toStreamParts(turn), turn, call.abortSignal) }
    }
  }
}
