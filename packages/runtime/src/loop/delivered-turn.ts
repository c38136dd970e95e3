import { toLoggable, type Delivered, type Delivery, type RunContext } from '@svc/contract'
import type { RunGuard } from '../guards/guard.ts'
import type { StepCall } from '../models/call-report.ts'
import type { ModelAnswer } from '../models/model-answer.ts'
import { InterruptibleStep } from '../models/model-step.ts'
import type { AssistantMessage, Turn } from '../sessions/turn.ts'

/** The delivery of an answer by a member of a team, for the team's own conversation. */
export class MemberDelivery implements Delivery {
  readonly #delivery: Delivery
  readonly #texts: string[] = []
  #isCut = false

  constructor(delivery: Delivery) {
    this.#delivery = delivery
  }

  get interrupted(): AbortSignal {
    return this.#delivery.interrupted
  }

  /** True if some of the answer was not delivered. */
  get isCut(): boolean {
    return this.#isCut
  }

  /** What was delivered of the answer. */
  get text(): string {
    return this.#texts.join('')
  }

  async settle(text: string, options: { readonly last: boolean }): Promise<Delivered> {
    const delivered = await this.#delivery.settle(text, options)
    this.#texts.push(delivered.text)
    if (delivered.interrupted) this.#isCut = true
    return delivered
  }
}

/** The text of a step on its way to the user. */
interface Sent {
  readonly delivered: Promise<Delivered>
  /** True if the user interrupted before the loop was done. */
  readonly isCut: boolean
  /** The message that has the text, once the step is recorded. */
  message?: AssistantMessage | undefined
}

/** A turn whose answer is delivered while the loop continues: leaves in its messages what was delivered. */
export class DeliveredTurn {
  readonly #delivery: Delivery
  readonly #turn: Turn
  readonly #context: RunContext
  readonly #sent: Sent[] = []
  // The step whose text is still arriving.
  #open: { readonly answer: ModelAnswer } | undefined
  #isComplete = false
  #settling: Promise<string> | undefined

  constructor(delivery: Delivery, turn: Turn, context: RunContext) {
    this.#delivery = delivery
    this.#turn = turn
    this.#context = context
  }

  /** True once the user interrupted the answer: no tool or model is called any more. */
  get isInterrupted(): boolean {
    return this.#delivery.interrupted.aborted
  }

  /** Makes the next model call of the turn. */
  step(call: StepCall, guard: RunGuard): InterruptibleStep {
    return new InterruptibleStep(this.#delivery.interrupted, call, guard)
  }

  /** The text of this step is about to arrive. */
  begin(step: { readonly answer: ModelAnswer }): void {
    this.#open = step
  }

  /** A member of a team delivers the answer in the place of this turn. */
  handOver(): MemberDelivery {
    return new MemberDelivery(this.#delivery)
  }

  /** The member has delivered the answer, or `isCut`. */
  takeBack({ isCut }: MemberDelivery): void {
    this.#isComplete = true
    this.#sent.push({ delivered: Promise.resolve({ text: '', interrupted: isCut }), isCut })
  }

  /** Delivers the text of an answer that is complete or `isCut`. */
  send({ text }: Pick<ModelAnswer, 'text'>, last: boolean, isCut: boolean): void {
    this.#open = undefined
    this.#add(text, last, isCut)
  }

  /** The message of the step that was sent last. */
  record(message: AssistantMessage | undefined): void {
    const sent = this.#sent.at(-1)
    if (sent !== undefined) sent.message = message
  }

  /** Resolves once all texts are delivered; the messages then have no more than that. Returns the text of the answer. */
  settled(): Promise<string> {
    return (this.#settling ??= this.#settle())
  }

  async #settle(): Promise<string> {
    if (!this.#isComplete) this.#add('', true, this.isInterrupted)
    let text = ''
    let isMarked = false
    let last: AssistantMessage | undefined
    for (const { delivered, isCut, message: recorded } of this.#sent) {
      const { text: beginning, interrupted } = await delivered
      const message = recorded ?? (isCut ? this.#unlessCalling(last) : undefined)
      if (message === undefined) continue
      if (message !== last) text = message.text = beginning
      last = message
      if (isMarked || !(interrupted || isCut)) continue
      message.interrupted = isMarked = true
    }
    return text
  }

  // The message of an interruption without a text of its own.
  #unlessCalling(last: AssistantMessage | undefined): AssistantMessage {
    return last === undefined || last.toolCalls !== undefined ? this.#turn.addText('') : last
  }

  /** Saves what was delivered of a turn that ends early, if anything was. Never throws. */
  async saveLate(): Promise<void> {
    try {
      if (await this.#endEarly()) await this.#turn.saveLate(this.#context)
    } catch (err) {
      const { runId, log } = this.#context
      log.error({ runId, err: toLoggable(err) }, 'the delivered part of a turn could not be saved')
    }
  }

  // Adds the text of the step under way. True if the turn is worth saving.
  async #endEarly(): Promise<boolean> {
    const answer = this.#open?.answer
    answer?.cut()
    if (answer !== undefined) this.send(answer, true, false)
    const last = this.#sent.at(-1)
    if (last !== undefined) last.message ??= this.#turn.addText('')
    await this.settled()
    return this.#turn.isAnswered
  }

  #add(text: string, last: boolean, isCut: boolean): void {
    this.#isComplete = last
    const delivered = this.#deliver(text, last)
    // It is awaited at the end of the turn.
    delivered.catch(() => {})
    this.#sent.push({ delivered, isCut })
  }

  async #deliver(text: string, last: boolean): Promise<Delivered> {
    return this.#delivery.settle(text, { last })
  }
}
