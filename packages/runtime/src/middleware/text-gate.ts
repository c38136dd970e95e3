import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { isPromise, type YieldedPart } from '@svc/contract'
import type { HeldText } from './held-text.ts'
import { toBlockedError, type Block } from './middleware.ts'

type StreamPart = LanguageModelV4StreamPart
type Delta = Extract<StreamPart, { type: 'text-delta' | 'reasoning-delta' }>
type End = Extract<StreamPart, { type: 'text-end' | 'reasoning-end' }>
type Read = Awaited<ReturnType<ReadableStreamDefaultReader<StreamPart>['read']>>

/** The finish reason, in the provider's words, of an answer that a middleware has ended. */
export const ENDED_BY_MIDDLEWARE = 'middleware'

/** The model call whose text is checked. */
export interface GatedCall {
  /** The provider has sent something, or may again: the next token is awaited from now on. */
  expectToken(): void
  /** A check is under way, during which no token is late. */
  expectNothing(): void
  /** Pushes a part about a verdict. @throws the error of the sink */
  push(part: YieldedPart): Promise<void> | undefined
  /** Ends the run: it is no failure of the model. */
  refuse(err: unknown): never
}

/** The checks of the texts of one step. */
export interface TextChecks {
  /** The hooks of a text, from the innermost out; undefined if none checks it. @param report takes parts about verdicts */
  hold(of: 'text' | 'reasoning', report: (part: YieldedPart) => void): readonly HeldText[] | undefined
}

/** One text of an answer. */
interface Lane {
  readonly type: 'text' | 'reasoning'
  readonly id: string
  readonly holds: readonly HeldText[]
  /** All that the model said, and all that has passed: they differ if a hook has changed it. */
  said: string
  passed: string
  metadata: Delta['providerMetadata']
  /** The first half of a surrogate pair, until the second one arrives. */
  half: string
}

/**
 * The stream of a model without what its checks have not passed. The text of an answer is one, whatever blocks it has; each block of
 * reasoning is a text of its own. Calls, files and sources follow once all text has passed. What is held when the stream breaks is lost.
 */
export class TextGate {
  readonly #reader: ReadableStreamDefaultReader<StreamPart>
  readonly #checks: TextChecks
  readonly #call: GatedCall
  readonly #passed: StreamPart[] = []
  readonly #later: StreamPart[] = []
  readonly #reports: YieldedPart[] = []
  readonly #reasoning = new Map<string, Lane>()
  #text: Lane | undefined
  #isOver = false

  constructor(stream: ReadableStream<StreamPart>, checks: TextChecks, call: GatedCall) {
    this.#reader = stream.getReader()
    this.#checks = checks
    this.#call = call
  }

  /** The next part, as a reader of the stream has it. @throws the error of the stream, why the run must end */
  async read(): Promise<Read> {
    for (;;) {
      const value = this.#passed.shift()
      if (value !== undefined) return { done: false, value }
      if (this.#isOver) return { done: true, value: undefined }
      const read = await this.#reader.read()
      if (read.done) return read
      await this.#take(read.value)
    }
  }

  /** Drops what is held. */
  async cancel(): Promise<void> {
    this.#isOver = true
    await this.#reader.cancel()
  }

  async #take(part: StreamPart): Promise<void> {
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start': {
        const isNew = part.type === 'reasoning-start' || this.#text === undefined
        const lane = this.#laneOf(part.type === 'text-start' ? 'text' : 'reasoning', part.id)
        if (lane === undefined || isNew) this.#passed.push(part)
        return
      }
      case 'text-delta':
      case 'reasoning-delta': {
        const lane = this.#laneOf(part.type === 'text-delta' ? 'text' : 'reasoning', part.id)
        if (lane === undefined) return void this.#passed.push(part)
        if (part.delta !== '') this.#call.expectToken()
        lane.metadata = part.providerMetadata ?? lane.metadata
        return this.#flow(lane, part.delta, false)
      }
      case 'text-end':
      case 'reasoning-end':
        return this.#end(part)
      // The arguments of a call are seen once it is made.
      case 'tool-input-start':
      case 'tool-input-delta':
      case 'tool-input-end':
        return this.#call.expectToken()
      case 'stream-start':
      case 'response-metadata':
      case 'raw':
      case 'error':
        return void this.#passed.push(part)
      case 'finish':
        if (part.finishReason.unified !== 'error') await this.#endAll()
        // A block has ended the answer.
        if (!this.#isOver) this.#passed.push(...this.#later.splice(0), part)
        return
      default:
        this.#call.expectToken()
        this.#later.push(part)
    }
  }

  async #end(part: End): Promise<void> {
    const lane = part.type === 'text-end' ? this.#text : this.#reasoning.get(part.id)
    if (lane === undefined) return void this.#passed.push(part)
    lane.metadata = part.providerMetadata ?? lane.metadata
    if (part.type === 'reasoning-end') return this.#close(lane)
    const { id, citations } = part
    if (citations !== undefined) this.#later.push({ type: 'text-end', id, citations })
  }

  async #endAll(): Promise<void> {
    const lanes = [...this.#reasoning.values(), ...(this.#text === undefined ? [] : [this.#text])]
    for (const lane of lanes) if (!this.#isOver) await this.#close(lane)
  }

  async #close(lane: Lane): Promise<void> {
    const { type, id } = lane
    await this.#flow(lane, '', true)
    if (this.#isOver) return
    this.#reasoning.delete(id)
    // Metadata may sign what the model said.
    const providerMetadata = lane.said === lane.passed ? lane.metadata : undefined
    this.#passed.push({ type: `${type}-end`, id, ...(providerMetadata && { providerMetadata }) })
  }

  /** Undefined if nothing checks the text. */
  #laneOf(type: Lane['type'], id: string): Lane | undefined {
    const known = type === 'text' ? this.#text : this.#reasoning.get(id)
    if (known !== undefined) return known
    const holds = this.#checks.hold(type, (part) => void this.#reports.push(part))
    if (holds === undefined) return undefined
    const lane: Lane = { type, id, holds, said: '', passed: '', metadata: undefined, half: '' }
    if (type === 'text') this.#text = lane
    else this.#reasoning.set(id, lane)
    return lane
  }

  // Lets an increment of a text, or its end, pass all checks.
  async #flow(lane: Lane, delta: string, final: boolean): Promise<void> {
    let passing = lane.half + delta
    lane.half = !final && /[\uD800-\uDBFF]$/.test(passing) ? passing.slice(-1) : ''
    if (lane.half !== '') passing = passing.slice(0, -1)
    lane.said += passing
    this.#call.expectNothing()
    for (const hold of lane.holds) {
      if (passing === '' && !final) break
      const checked = await this.#check(hold, passing, final)
      if (checked === undefined) return
      if (typeof checked !== 'string') return this.#block(checked)
      passing = checked
    }
    this.#call.expectToken()
    await this.#report()
    if (passing === '' || this.#isOver) return
    lane.passed += passing
    this.#passed.push({ type: `${lane.type}-delta`, id: lane.id, delta: passing })
  }

  // Undefined if the run has ended meanwhile.
  async #check(hold: HeldText, delta: string, final: boolean): Promise<string | Block | undefined> {
    try {
      const checked = await hold.push(delta, final)
      return this.#isOver ? undefined : checked
    } catch (err) {
      if (this.#isOver) return undefined
      return this.#call.refuse(err)
    }
  }

  async #block(block: Block): Promise<void> {
    await this.#report()
    if (this.#isOver) return
    this.#isOver = true
    this.#reader.cancel().catch(() => {})
    if (block.answer === undefined) this.#call.refuse(toBlockedError(block))
    const id = this.#text?.id ?? 'answer'
    const finishReason = { unified: 'content-filter', raw: ENDED_BY_MIDDLEWARE } as const
    this.#passed.push({ type: 'text-delta', id, delta: block.answer })
    this.#passed.push({ type: 'finish', finishReason, usage: NO_USAGE })
  }

  async #report(): Promise<void> {
    for (const part of this.#reports.splice(0)) {
      if (this.#isOver) return
      const pushing = this.#call.push(part)
      if (isPromise(pushing)) await pushing
    }
  }
}

const NO_COUNTS = { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined }
const NO_USAGE = {
  inputTokens: NO_COUNTS,
  outputTokens: { total: undefined, text: undefined, reasoning: undefined }
}
