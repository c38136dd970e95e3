import type { RunContext, VoiceLink, VoiceSettings, YieldedPart } from '@svc/contract'
import { RunEvents } from '@svc/runtime/loop'
import type { EngineHost, VoiceEngine, VoiceEngineEvent } from '../engines/engine.ts'
import { VOICE_ERR_CALL_TIMEOUT, VOICE_ERR_IDLE } from '../errors.ts'
import { CallAudio } from './call-audio.ts'
import { CallOrder, sendError, type CallPlan, type CallScope } from './call-scope.ts'
import { Conversation, type CallState } from './conversation.ts'
import { Recorder } from './recorder.ts'

/** Milliseconds for the answer under way to be saved when the user hangs up. */
const CLOSE_TIMEOUT = 5_000

type EndReason = 'hangup' | 'gone' | 'shutdown' | 'idle' | 'timeout' | 'error'

/** What a call needs. */
export interface CallHost {
  readonly plan: CallPlan
  readonly link: VoiceLink
  readonly context: RunContext
  /** Whose audio is kept as files. */
  readonly records: 'both' | 'answers' | 'none'
  /** Writes a part into the log; resolves when it is read. */
  emit(part: YieldedPart): Promise<void>
}

/** One call, from its first audio until it ends. */
export class Call {
  readonly #host: CallHost
  readonly #events: RunEvents
  readonly #startedAt = performance.now()
  readonly #over = Promise.withResolvers<EndReason>()
  #reason: EndReason = 'error'
  #settings: VoiceSettings
  #engine: VoiceEngine | undefined
  #audio: CallAudio | undefined
  #recorder: Recorder | undefined
  #conversation: Conversation | undefined
  #state: CallState | undefined
  #isOver = false
  #idleTimer: NodeJS.Timeout | undefined
  #callTimer: NodeJS.Timeout | undefined

  constructor(host: CallHost) {
    this.#host = host
    this.#settings = host.link.settings
    this.#events = new RunEvents(host.context, host.plan.name, 'agent')
    // An engine may fail before anything waits for the end.
    this.#over.promise.catch(() => {})
  }

  /** Holds the call. @throws the error of an engine that fails, the reason of the run's signal */
  async run(): Promise<void> {
    const { context } = this.#host
    const off = context.onAbort((reason) => this.#abort(reason))
    try {
      const conversation = await this.#begin()
      void this.#receive(conversation)
      this.#reason = await this.#over.promise
      await conversation.responses.close(CLOSE_TIMEOUT)
    } finally {
      this.#isOver = true
      off()
      clearTimeout(this.#idleTimer)
      clearTimeout(this.#callTimer)
      await this.#engine?.close()
      this.#audio?.close()
      await this.#recorder?.close()
      this.#reportEnd()
    }
  }

  /** Ends the call; safe to call twice. */
  hangUp(): void {
    this.#over.resolve('hangup')
  }

  async #begin(): Promise<Conversation> {
    const { plan, link, context } = this.#host
    const engine = await plan.open(this.#engineHost())
    this.#engine = engine
    const audio = await CallAudio.open(engine, this.#settings)
    this.#audio = audio
    context.signal.throwIfAborted()
    const conversation = this.#converse(engine, audio)
    this.#conversation = conversation
    const { sessionId } = context
    const { name } = engine
    this.#events.emit('voice.session.start', () => ({ sessionId, engine: name, format: audio.format }))
    if (plan.record) void link.send({ type: 'recording' })
    const timeout = () => this.#end('timeout', new VOICE_ERR_CALL_TIMEOUT(plan.timeout))
    this.#callTimer = setTimeout(timeout, plan.timeout)
    this.#watchIdle()
    this.#setState('listening')
    if (plan.greeting !== undefined && this.#host.records !== 'answers')
      conversation.responses.say(plan.greeting)
    return conversation
  }

  #engineHost(): EngineHost {
    const { plan, context, emit } = this.#host
    const child = context.child(plan.name, {
      ...{ key: 'call', unsourced: true, answersCaller: true },
      onInput: (input) => this.#conversation?.responses.input(input)
    })
    return {
      context: child,
      settings: this.#settings,
      notify: (event) => this.#take(event),
      emit: (part) => {
        this.#conversation?.responses.part(part)
        return emit(part)
      }
    }
  }

  #converse(engine: VoiceEngine, audio: CallAudio): Conversation {
    const { plan, link, context, records } = this.#host
    const write = (part: YieldedPart) => void this.#host.emit(part).catch(() => {})
    const settings = () => this.#settings
    const scope: CallScope = {
      ...{ plan, link, context, engine, events: this.#events, order: new CallOrder(), write },
      get settings() {
        return settings()
      }
    }
    const rates = { input: engine.inputRate, output: engine.outputRate }
    if (records !== 'none') this.#recorder = new Recorder(context, rates, write, records)
    const host = {
      configure: (next: VoiceSettings) => void (this.#settings = next),
      state: (state: CallState) => this.#setState(state),
      active: () => this.#watchIdle()
    }
    return new Conversation(scope, host, audio, this.#recorder)
  }

  async #receive(conversation: Conversation): Promise<void> {
    try {
      for await (const input of this.#host.link.input) {
        if (input.type === 'end') return this.#over.resolve(input.reason)
        conversation.receive(input)
      }
      this.#over.resolve('gone')
    } catch (err) {
      this.#over.reject(err)
    }
  }

  #take(event: VoiceEngineEvent): void {
    if (event.type === 'reconnect') {
      const { attempt, reason } = event
      this.#events.emit('voice.reconnect', () => ({ attempt, reason }))
    } else if (event.type !== 'error') this.#conversation?.take(event)
    else if (event.fatal) this.#over.reject(event.error)
    else sendError(this.#host, event.error)
  }

  #setState(state: CallState): void {
    if (this.#state === state) return
    this.#state = state
    void this.#host.link.send({ type: 'state', state })
  }

  // Counts from the last time that anything happened.
  #watchIdle(): void {
    const { idle } = this.#host.plan
    clearTimeout(this.#idleTimer)
    if (this.#isOver) return
    this.#idleTimer = setTimeout(() => {
      if (this.#conversation?.isIdle === false) this.#watchIdle()
      else this.#end('idle', new VOICE_ERR_IDLE(idle))
    }, idle)
  }

  #end(reason: EndReason, notice: Error): void {
    sendError(this.#host, notice)
    this.#over.resolve(reason)
  }

  // What was played until now is all that the turn under way saves.
  #abort(reason: unknown): void {
    void this.#conversation?.responses.close(0)
    this.#reason = 'hangup'
    this.#over.reject(reason)
  }

  #reportEnd(): void {
    if (this.#conversation === undefined) return
    const { sessionId } = this.#host.context
    const { answers: turns, responses } = this.#conversation
    const { interruptions, usage } = responses
    const durationMs = performance.now() - this.#startedAt
    const reason = this.#reason
    this.#events.emit('voice.session.end', () => ({
      ...{ sessionId, durationMs, turns, interruptions, reason, usage }
    }))
  }
}
