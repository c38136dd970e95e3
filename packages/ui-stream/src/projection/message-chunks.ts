import {
  isToolPart,
  RunSpeech,
  RunView,
  type Increment,
  type NumberedPart,
  type Passage,
  type PartOf
} from '@svc/contract'
import { steerOf, type FileUrl } from '@svc/surface'
import type { ChatMetadata, UiChunk, UiChunkOf } from '../wire/chunks.ts'
import { contentChunks, toData, toStructured, type Logged } from './content-chunks.ts'
import { MemberChunks } from './member-chunks.ts'
import { ToolChunks } from './tool-chunks.ts'

const FINISH_REASONS: Readonly<
  Record<PartOf<'finish'>['finishReason'], UiChunkOf<'finish'>['finishReason']>
> = {
  stop: 'stop',
  length: 'length',
  'content-filter': 'content-filter',
  // Not `tool-calls`: nothing continues them.
  'max-steps': 'other',
  canceled: 'other',
  other: 'other'
}

const EMPTY_STEP: readonly UiChunk[] = [{ type: 'start-step' }, { type: 'finish-step' }]

/** How messages show their runs. */
export interface ChatView {
  readonly fileUrl: FileUrl
  /** True if messages that join a run are `steering-message` parts. */
  readonly steeringMessages: boolean
}

/**
 * Makes the chunks of a message from the parts of its run, in order. They depend on the log only, so that each reader gets the same; the
 * URLs of files begin as the reader reaches the service.
 */
export class MessageChunks {
  /** The run so far. */
  readonly run = new RunView()
  readonly #view: ChatView
  readonly #tools = new ToolChunks()
  readonly #speech = new RunSpeech(({ type, seq }) => `${type === 'reasoning' ? type : 'text'}-${seq}`)
  readonly #members = new MemberChunks()
  // The model step under way, or the last one.
  #step: number | undefined
  #isStepOver = true
  // Chunks of members since it began: its reset removes them too.
  #ofMembers: UiChunk[] = []
  #hasStructured = false
  // Messages that have joined the run, for its next step.
  #steers: UiChunk[] = []

  constructor(view: ChatView) {
    this.#view = view
  }

  /** The inputs that the output of a tool answers, by the id of the tool call in the message. */
  get asked(): ReadonlyMap<string, string> {
    return this.#tools.asked
  }

  /** Continues the text under way with an increment, and returns the JSON of its chunk; undefined if there is none. */
  continueText(part: Increment, json: string): string | undefined {
    const open = this.#speech.continue(part)
    if (open === undefined) return undefined
    this.run.seq = part.seq
    return `{"type":"text-delta","id":"${open.shown}","delta":${json}}`
  }

  get #runId(): string {
    return this.run.start?.runId ?? ''
  }

  add(part: NumberedPart): UiChunk[] {
    this.run.add(part)
    if (!part.source?.length) return this.#addOwn(part)
    const chunks = this.#addOfMember(part)
    if (this.#step !== undefined)
      for (const chunk of chunks) if (!('transient' in chunk)) this.#ofMembers.push(chunk)
    return chunks
  }

  /** The chunks that begin an answer in the middle of the message. */
  resume(): UiChunk[] {
    return [{ type: 'start', messageId: this.#runId, messageMetadata: { status: 'working' } }]
  }

  /** The chunks that end an answer where the run waits. */
  pause(): UiChunk[] {
    const messageMetadata = { status: 'input-required', seq: this.run.seq } as const
    return [
      ...this.#close(),
      ...this.#endStep(),
      { type: 'finish', finishReason: 'tool-calls', messageMetadata }
    ]
  }

  #addOwn(part: NumberedPart): UiChunk[] {
    switch (part.type) {
      case 'start':
        return [this.#start(part)]
      case 'text':
      case 'reasoning':
        return this.#increment(part)
      case 'step.start':
        return [...this.#close(), ...this.#beginStep(part)]
      case 'structured':
        return [this.#structured(part.value)]
      case 'error':
        return this.#fail(part)
      case 'finish':
        return this.#finish(part)
      case 'voice.turn':
        return this.#turn(part)
      case 'step':
        return this.#close()
      case 'data':
        return this.#data(part)
      default:
        return this.#addAnywhere(part)
    }
  }

  #addOfMember(part: NumberedPart): UiChunk[] {
    switch (part.type) {
      case 'text':
      case 'reasoning':
        return this.#members.text(part)
      case 'step.start':
        return [...this.#members.begin(part), ...this.#tools.begin(part)]
      case 'structured':
        this.#members.structured(part)
        return []
      case 'finish':
        this.#tools.finish(part)
        return this.#members.end(part.source ?? [])
      case 'error':
        return this.#members.end(part.source ?? [])
      case 'data':
        return [toData(part)]
      default:
        return this.#addAnywhere(part)
    }
  }

  // Parts that are shown in the same way for the agent and for members.
  #addAnywhere(part: NumberedPart): UiChunk[] {
    if (isToolPart(part)) {
      const chunks = this.#tools.add(part)
      return chunks.length > 0 && !part.source?.length ? [...this.#close(), ...chunks] : chunks
    }
    return contentChunks(part, (file) => this.#view.fileUrl(file, this.#runId))
  }

  #start({ runId, sessionId, at }: Logged<'start'>): UiChunk {
    return {
      type: 'start',
      messageId: runId,
      messageMetadata: { runId, sessionId, createdAt: at, status: 'working' }
    }
  }

  #increment(part: Increment): UiChunk[] {
    const { text: delta } = part
    const open = this.#speech.continue(part)
    if (open !== undefined) return [{ type: `${open.kind}-delta`, id: open.shown, delta }]
    const begun = this.#speech.open(part)
    if (begun === undefined) return []
    const { kind, shown: id } = begun.passage
    return [...begun.ended.map(endOf), { type: `${kind}-start`, id }, { type: `${kind}-delta`, id, delta }]
  }

  #close(): UiChunk[] {
    return this.#speech.end().map(endOf)
  }

  #beginStep(part: PartOf<'step.start'>): UiChunk[] {
    const { index, attempt } = part
    const chunks = this.#tools.begin(part)
    this.#speech.begin(part)
    if (attempt > 1 && this.#step === index) return [...chunks, ...this.#reset()]
    const ended = this.#endStep()
    this.#step = index
    this.#isStepOver = false
    this.#ofMembers = []
    return [...chunks, ...ended, ...this.#takeSteers(), { type: 'start-step' }]
  }

  #data(part: Logged<'data'>): UiChunk[] {
    const steer = this.#view.steeringMessages ? steerOf(part) : undefined
    if (steer === undefined) return [toData(part)]
    const { steerId: id, message } = steer
    const texts = typeof message === 'string' ? [message] : message.map(({ text }) => text)
    this.#steers.push({ type: 'steering-message', id, parts: texts.map((text) => ({ type: 'text', text })) })
    return []
  }

  // Before the step that reads them; what no step has read stands at the end.
  #takeSteers(): UiChunk[] {
    const taken = this.#steers
    if (taken.length > 0) this.#steers = []
    return taken
  }

  // What members did meanwhile is not void.
  #reset(): UiChunk[] {
    this.#hasStructured = false
    return [{ type: 'reset-step' }, ...this.#ofMembers]
  }

  #endStep(): UiChunk[] {
    if (this.#isStepOver) return []
    this.#isStepOver = true
    return [{ type: 'finish-step' }]
  }

  #structured(value: unknown): UiChunk {
    this.#hasStructured = true
    return toStructured(value)
  }

  // Only the step under way can be reset: what earlier steps of the turn have said stays.
  #turn(part: Logged<'voice.turn'>): UiChunk[] {
    const closed = this.#close()
    const turn = this.#speech.speak(part)
    if (turn === undefined || this.#step === undefined) return closed
    const { spoken: id } = turn
    const whole: UiChunk[] =
      id === undefined
        ? []
        : [
            { type: 'text-start', id },
            { type: 'text-delta', id, delta: part.text },
            { type: 'text-end', id }
          ]
    return [...closed, ...this.#reset(), ...whole]
  }

  #fail({ error: { code, message, retryable } }: Logged<'error'>): UiChunk[] {
    const messageMetadata = {
      status: 'failed',
      seq: this.run.seq,
      error: { code, message, retryable }
    } as const
    return [
      ...this.#close(),
      ...this.#members.endAll(),
      ...this.#endStep(),
      ...this.#takeSteers(),
      { type: 'message-metadata', messageMetadata },
      { type: 'error', errorText: message },
      { type: 'finish', finishReason: 'error', messageMetadata }
    ]
  }

  #finish({ finishReason, usage, durationMs, structured }: Logged<'finish'>): UiChunk[] {
    const isCanceled = finishReason === 'canceled'
    const messageMetadata: Partial<ChatMetadata> = {
      status: isCanceled ? 'canceled' : 'completed',
      seq: this.run.seq,
      finishReason,
      usage,
      durationMs
    }
    const isCut = isCanceled || finishReason === 'max-steps'
    const isNew = structured !== null && structured !== undefined && !this.#hasStructured
    return [
      ...this.#close(),
      ...this.#members.endAll(),
      ...(isNew ? [this.#structured(structured)] : []),
      ...this.#endStep(),
      ...this.#takeSteers(),
      // After a step with no tools the client does not send the message again by itself.
      ...(isCut && this.#speech.length === 0 ? EMPTY_STEP : []),
      ...(isCanceled ? [{ type: 'abort' } as const] : []),
      { type: 'finish', finishReason: FINISH_REASONS[finishReason], messageMetadata }
    ]
  }
}

function endOf({ kind, shown: id }: Passage<string>): UiChunk {
  return { type: `${kind}-end`, id }
}
