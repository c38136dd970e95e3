import { dropOldest, type AudioFormat, type Usage } from '@svc/contract'
import type { AssistantMessage, Item } from '../events/items.ts'
import { ProtocolError } from '../events/read-event.ts'
import type { Response } from '../events/server-events.ts'
import { toWireFormat, type SessionState } from '../sessions/session-state.ts'

/** The least audio of a commit. */
const MIN_COMMIT_MS = 100
/** Bytes of the pieces of longer audio: a call takes no larger frames. */
const MAX_FRAME = 65_536
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

/** The length of the audio that a client appended since the last turn. */
class AudioBuffer {
  #ms = 0

  /**
   * Decodes and counts audio.
   * @returns it in frames of at most 64 KiB
   * @throws ProtocolError unless it is base64 of whole samples
   */
  append(base64: string, { type, rate }: AudioFormat): Uint8Array[] {
    const bytesPerSample = type === 'audio/pcm' ? 2 : 1
    const audio = decode(base64)
    if (audio.byteLength % bytesPerSample !== 0)
      throw new ProtocolError(
        'invalid_value',
        `Invalid 'audio': ${audio.byteLength} bytes are not a whole number of 16-bit samples.`,
        'audio'
      )
    this.#ms += (audio.byteLength / bytesPerSample / rate) * 1_000
    if (audio.byteLength <= MAX_FRAME) return [audio]
    const frames: Uint8Array[] = []
    for (let start = 0; start < audio.byteLength; start += MAX_FRAME)
      frames.push(audio.subarray(start, start + MAX_FRAME))
    return frames
  }

  /** A turn took what was appended, or it was discarded. */
  clear(): void {
    this.#ms = 0
  }

  /** Checks that the audio is long enough for a turn. @throws ProtocolError */
  requireTurn(): void {
    if (this.#ms >= MIN_COMMIT_MS) return
    throw new ProtocolError(
      'input_audio_buffer_commit_empty',
      `The input audio buffer has ${Math.round(this.#ms)} ms of audio, a turn needs at least ${MIN_COMMIT_MS} ms.`
    )
  }
}

function decode(base64: string): Buffer {
  if (base64 === '' || base64.length % 4 !== 0 || !BASE64.test(base64))
    throw new ProtocolError('invalid_value', "Invalid 'audio': expected base64-encoded bytes.", 'audio')
  return Buffer.from(base64, 'base64')
}

interface FunctionCall {
  readonly inputId: string
  output?: string
}

/** An output to answer an input of the run with. */
export interface CallOutput {
  readonly callId: string
  readonly inputId: string
  readonly output: string
}

/** The function calls of a conversation that the run waits for. */
class FunctionCalls {
  readonly #pending = new Map<string, FunctionCall>()

  /** True if the run waits for an output that the client has not given. */
  get missing(): boolean {
    return [...this.#pending.values()].some(({ output }) => output === undefined)
  }

  /** Adds a call of the run. */
  add(callId: string, inputId: string): void {
    this.#pending.set(callId, { inputId })
  }

  /** Keeps the output of a call until a response is asked for. @throws ProtocolError */
  keep(callId: string, output: string): void {
    const call = this.#pending.get(callId)
    if (call === undefined || call.output !== undefined)
      throw new ProtocolError(
        'invalid_tool_call_id',
        `No function call with the call_id '${callId.slice(0, 64)}' waits for its output.`,
        'item.call_id'
      )
    call.output = output
  }

  /** Takes the outputs that were kept. */
  take(): CallOutput[] {
    const outputs: CallOutput[] = []
    for (const [callId, { inputId, output }] of this.#pending) {
      if (output === undefined) continue
      outputs.push({ callId, inputId, output })
      this.#pending.delete(callId)
    }
    return outputs
  }
}

/** Items that are kept; the oldest are dropped. */
const MAX_ITEMS = 1_000

/** The items of a conversation as their client sees them, in order. */
class ItemList {
  readonly #items = new Map<string, Item>()
  #lastId: string | null = null

  /** The id of the last item; null before the first. */
  get lastId(): string | null {
    return this.#lastId
  }

  has(id: string): boolean {
    return this.#items.has(id)
  }

  get(id: string): Item | undefined {
    return this.#items.get(id)
  }

  /** Adds an item at the end. */
  add(id: string, item: Item): void {
    this.#items.set(id, item)
    this.#lastId = id
    dropOldest(this.#items, MAX_ITEMS)
  }

  /** Replaces an item in its place; an unknown one is not added. */
  replace(id: string, item: Item): void {
    if (this.#items.has(id)) this.#items.set(id, item)
  }
}

/** Estimates whether a client is playing audio: in real time, from when it was sent. */
class Playback {
  #endsAt = 0

  /** True while audio is being played. @param now milliseconds of a monotonic clock */
  isPlaying(now = performance.now()): boolean {
    return this.#endsAt > now
  }

  /** Audio was sent. */
  add(bytes: number, { type, rate }: AudioFormat, now = performance.now()): void {
    const samples = type === 'audio/pcm' ? bytes / 2 : bytes
    this.#endsAt = Math.max(this.#endsAt, now) + (samples / rate) * 1_000
  }

  /** The client discards what it has not played. */
  cut(): void {
    this.#endsAt = 0
  }
}

/** A user's words before their item took its place. */
export interface EarlyTranscript {
  readonly text: string
  readonly final: boolean
}

/** Speech, in milliseconds of received audio. */
interface Speech {
  readonly itemId: string
  readonly startMs: number
  readonly endMs: number | undefined
}

/** Answers whose audio may still be sent. */
const MAX_ANSWERS = 8

/** What a call looks like to its client; it outlives connections. */
export class Conversation {
  readonly session: SessionState
  readonly items = new ItemList()
  readonly calls = new FunctionCalls()
  readonly buffer = new AudioBuffer()
  /** By item id. */
  readonly transcripts = new Map<string, EarlyTranscript>()
  readonly playback = new Playback()
  /** The latest speech of the user. */
  speech: Speech | undefined
  /** True if it is not reported yet. */
  isSpeechHeld = false
  /** The call: the `runId` of its run. */
  id = ''
  /** The id of the client secret that began the call; undefined if its caller did. */
  secretId: string | undefined
  /** The response in progress. */
  response: OpenResponse | undefined
  /** Metadata that the next response repeats. */
  metadata: Readonly<Record<string, string>> | null = null
  /** The `event_id` of the latest `response.create` that has no response yet. */
  createdBy: string | null = null
  /** The position of the last output that was sent. */
  position = 0

  readonly #answers = new Map<string, OpenAnswer>()

  constructor(session: SessionState) {
    this.session = session
  }

  /** One of the latest answers: some of its audio may be sent after its response has ended. */
  answerOf(itemId: string): OpenAnswer | undefined {
    return this.#answers.get(itemId)
  }

  addAnswer(answer: OpenAnswer): void {
    this.#answers.set(answer.itemId, answer)
    dropOldest(this.#answers, MAX_ANSWERS)
  }
}

/** The answer of a response. */
export interface OpenAnswer {
  readonly responseId: string
  readonly itemId: string
  readonly previousItemId: string | null
  readonly outputIndex: number
  readonly modality: 'audio' | 'text'
  /** All that was generated. */
  text: string
  /** What was played of it, where it was stopped. */
  playedText: string | undefined
  isDone: boolean
}

/** How a response ended. */
export interface ResponseEnd {
  readonly status: 'completed' | 'interrupted' | 'canceled' | 'failed'
  readonly usage: Usage
  readonly error?: { readonly code: string; readonly message: string }
}

/** A response in progress. */
export class OpenResponse {
  readonly id: string
  readonly #conversationId: string
  readonly #session: SessionState
  readonly #metadata: Readonly<Record<string, string>> | null
  readonly #output: Item[] = []
  answer: OpenAnswer | undefined

  constructor(
    id: string,
    conversationId: string,
    session: SessionState,
    metadata: Readonly<Record<string, string>> | null
  ) {
    this.id = id
    this.#conversationId = conversationId
    this.#session = session
    this.#metadata = metadata
  }

  /** Adds an item of the output; returns its index. */
  add(item: Item): number {
    return this.#output.push(item) - 1
  }

  /** Replaces an item of the output. */
  replace(index: number, item: Item): void {
    this.#output[index] = item
  }

  /** The response as its events show it. @param end absent while it is in progress */
  toWire(end?: ResponseEnd): Response {
    const { outputFormat, voice, modality } = this.#session
    return {
      object: 'realtime.response',
      id: this.id,
      conversation_id: this.#conversationId,
      status: end === undefined ? 'in_progress' : STATUS[end.status],
      ...(end !== undefined && { status_details: toDetails(end) }),
      output: [...this.#output],
      output_modalities: [this.answer?.modality ?? modality],
      audio: { output: { format: toWireFormat(outputFormat), ...(voice !== undefined && { voice }) } },
      max_output_tokens: 'inf',
      metadata: this.#metadata === null ? null : { ...this.#metadata },
      ...(end !== undefined && { usage: toUsage(end.usage) })
    }
  }
}

/** An answer as an item: with what was played, if it was stopped. */
export function toMessage(
  answer: Pick<OpenAnswer, 'itemId' | 'modality' | 'text' | 'playedText'>,
  given: 'in_progress' | 'completed' | 'incomplete'
): AssistantMessage {
  const { itemId, modality, playedText } = answer
  const text = playedText ?? answer.text
  const status = playedText === undefined ? given : 'incomplete'
  const content: AssistantMessage['content'] =
    modality === 'audio' ? [{ type: 'output_audio', transcript: text }] : [{ type: 'output_text', text }]
  return {
    id: itemId,
    object: 'realtime.item',
    type: 'message',
    status,
    role: 'assistant',
    content: status === 'in_progress' ? [] : content
  }
}

const STATUS = {
  completed: 'completed',
  interrupted: 'cancelled',
  canceled: 'cancelled',
  failed: 'failed'
} as const

function toDetails({ status, error }: ResponseEnd): NonNullable<Response['status_details']> {
  const type = STATUS[status]
  if (status === 'interrupted') return { type, reason: 'turn_detected' }
  if (status === 'canceled') return { type, reason: 'client_cancelled' }
  return { type, ...(error !== undefined && { error: { type: 'server_error', ...error } }) }
}

function toUsage({ promptTokens, completionTokens, totalTokens, cachedPromptTokens = 0 }: Usage) {
  return {
    total_tokens: totalTokens,
    input_tokens: promptTokens,
    output_tokens: completionTokens,
    input_token_details: { cached_tokens: cachedPromptTokens }
  }
}
