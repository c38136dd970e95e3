import {
  createInProcessStores,
  createRunEngine,
  defineRunnable,
  GLOBAL_REGISTRY,
  type Delivered,
  type Delivery,
  type Runnable,
  type RunContext,
  type YieldedPart
} from '@svc/registry'
import { collect } from './make-agent.ts'

interface Waiting {
  readonly text: string
  /** Where it begins in the answer. */
  readonly start: number
  readonly resolve: (delivered: Delivered) => void
}

/** A delivery under the control of a test: only `play` delivers anything. */
export class PlayedDelivery implements Delivery {
  /** The texts so far; a dot follows the last one. */
  readonly sent: string[] = []
  readonly #interruption = new AbortController()
  #waiting: Waiting[] = []
  #length = 0
  #played = 0
  #isOver = false
  #news = Promise.withResolvers<void>()

  constructor(context: Pick<RunContext, 'onAbort'>) {
    context.onAbort(() => this.#end())
  }

  get interrupted(): AbortSignal {
    return this.#interruption.signal
  }

  settle(text: string, { last }: { last: boolean }): Promise<Delivered> {
    this.sent.push(last ? `${text}.` : text)
    const { promise, resolve } = Promise.withResolvers<Delivered>()
    this.#waiting.push({ text, start: this.#length, resolve })
    this.#length += text.length
    this.#advance()
    this.#news.resolve()
    this.#news = Promise.withResolvers()
    return promise
  }

  /** Resolves once so many texts were sent. */
  async until(count: number): Promise<void> {
    while (this.sent.length < count) await this.#news.promise
  }

  /** Delivers the answer up to so many characters; default: all that was generated. */
  play(characters = this.#length): void {
    this.#played = characters
    this.#advance()
  }

  /** The user interrupts after so many characters. */
  interrupt(characters: number): void {
    this.#played = characters
    this.#interruption.abort()
    this.#end()
  }

  #end(): void {
    this.#isOver = true
    this.#advance()
  }

  #advance(): void {
    this.#waiting = this.#waiting.filter(({ text, start, resolve }) => {
      const isWhole = start + text.length <= this.#played
      if (!isWhole && !this.#isOver) return true
      resolve({ text: text.slice(0, Math.max(0, this.#played - start)), interrupted: !isWhole })
      return false
    })
  }
}

/** Runs the turns of a session, each with a delivery, as a call does. */
export function makeCall(answer: Runnable) {
  const stores = createInProcessStores()
  const engine = createRunEngine({ stores, drainTimeout: 0 })
  const { kind, name } = answer
  const sessionId = 's'
  /** Starts a turn; `onPart` gets its parts before the engine does. */
  const turn = async (
    input: string,
    onPart: (part: YieldedPart, delivery: PlayedDelivery) => void = () => {}
  ) => {
    const begun = Promise.withResolvers<PlayedDelivery>()
    const call = defineRunnable({
      kind,
      name,
      async *stream(given, context) {
        const delivery = new PlayedDelivery(context)
        begun.resolve(delivery)
        const options = { unsourced: true, answersCaller: true, delivery, reported: answer }
        for await (const part of answer.stream(given, context.child('turn', options))) {
          onPart(part, delivery)
          yield part
        }
      }
    })
    const run = await engine.start(call, input, { sessionId })
    const ended = collect(run.parts())
    return { run, delivery: await begun.promise, ended }
  }
  const key = { registry: GLOBAL_REGISTRY, owner: 'anonymous', kind, name, sessionId }
  return { engine, turn, messages: async () => stores.sessions.load(key, 100) }
}
