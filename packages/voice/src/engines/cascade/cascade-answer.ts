import {
  RUN_ERR_CANCELED,
  type ChildCaller,
  type Runnable,
  type VoiceSettings,
  type YieldedPart
} from '@svc/contract'
import { AnswerRun } from '../answer-run.ts'
import type { AnswerRequest, EngineHost, PlayedAnswer } from '../engine.ts'
import type { Speaking } from './speaking.ts'

/** Milliseconds in which an interrupted answer may still generate text; then it is ended. */
const STOP_TIMEOUT = 1_000

/** What an answer needs. */
export interface CascadeAnswerCall {
  readonly host: EngineHost
  readonly runnable: Runnable
  readonly request: AnswerRequest
  readonly settings: VoiceSettings
  readonly speaking: Speaking
  /** What the call has said before the first turn. */
  readonly said: string | undefined
}

/** One answer of a runnable, spoken while it is generated. */
export class CascadeAnswer {
  readonly #call: CascadeAnswerCall
  readonly #run: AnswerRun
  readonly #end = new AbortController()
  #isCut = false
  #hasFailed = false
  #textAfterCut = 0
  #stopTimer: NodeJS.Timeout | undefined

  constructor(call: CascadeAnswerCall) {
    this.#call = call
    const { host, runnable, request, speaking } = call
    const isSpoken = request.modality === 'audio'
    const text = request.turns.map((turn) => turn.text).join('\n')
    this.#run = new AnswerRun({
      ...{ runnable, request, caller: this.#callerFor(text !== ''), signal: this.#end.signal },
      host: { ...host, emit: (part) => this.#emit(part) },
      input: text === '' ? request.instructions : text,
      onText: (delta) => {
        if (this.#isCut) this.#stopSoon()
        else if (isSpoken) speaking.push(delta)
      },
      onComplete: async () => {
        speaking.flush()
        await speaking.spoken()
        // The end of a failed answer is its error.
        if (this.#hasFailed) await new Promise(() => {})
      }
    })
  }

  /** Answers; the last event is `response.end`. */
  async run(): Promise<void> {
    this.#call.speaking.begin()
    const off = this.#call.host.context.onAbort((reason) => this.#end.abort(reason))
    await this.#run.run()
    off()
    clearTimeout(this.#stopTimer)
  }

  delivered(): void {
    this.#run.delivered()
  }

  interrupt(played: PlayedAnswer): void {
    this.#isCut = true
    this.#run.interrupt(played)
  }

  /** The rest of the answer cannot be spoken: it ends with what was. */
  failSpeech(error: unknown): void {
    this.#isCut = this.#hasFailed = true
    this.#end.abort(error)
  }

  /** The call is over. */
  close(): void {
    this.#end.abort(new RUN_ERR_CANCELED())
  }

  #callerFor(hasTurns: boolean): ChildCaller | undefined {
    const { host, runnable, settings, request, said } = this.#call
    // It takes neither instructions nor tools.
    if (runnable.kind === 'workflow') return undefined
    const { context } = host
    const instructions = [
      settings.instructions ?? context.instructions,
      said && `You have greeted the user with: ${said}`,
      hasTurns ? request.instructions : undefined
    ]
    const tools = settings.tools ?? context.clientTools
    const text = instructions.filter(Boolean).join('\n\n')
    const { toolChoice, stop } = context
    return {
      instructions: text === '' ? undefined : text,
      tools: tools.length === 0 ? undefined : tools,
      toolChoice,
      stop
    }
  }

  // What is said before a tool is spoken at once.
  #emit(part: YieldedPart): Promise<void> {
    if (part.type === 'tool.call' && !this.#isCut) this.#call.speaking.flush()
    return this.#call.host.emit(part)
  }

  // A runnable that does not know of interruptions would generate all of its answer. One that does ends it, and finishes its tools.
  #stopSoon(): void {
    this.#textAfterCut++
    this.#stopTimer ??= setTimeout(() => {
      if (this.#textAfterCut > 1) this.#end.abort(new RUN_ERR_CANCELED())
    }, STOP_TIMEOUT)
  }
}
