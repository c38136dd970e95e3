import type { RunContext, VoiceInput, VoiceLink, VoiceSettings, YieldedPart } from '@svc/contract'
import { requireCaller } from '@svc/registry/engine'
import { RunEvents } from '@svc/runtime/loop'
import type { EngineHost, VoiceEngine, VoiceEngineEvent } from '../engines/engine.ts'
import { VOICE_ERR_CALL_TIMEOUT, VOICE_ERR_COMMIT_TOO_SHORT, VOICE_ERR_IDLE } from '../errors.ts'
import type { Answering } from './answering.ts'
import { CallAudio, Recorder } from './call-audio.ts'
import { CallOrder, newId, sendError, type CallPlan, type CallScope } from './call-scope.ts'
import { Responses } from './responses.ts'
import { UserTurns } from './user-turns.ts'

/** Milliseconds of audio that a committed turn has at least. */
const MIN_TURN = 100

export type CallState = 'listening' | 'thinking' | 'speaking'
type ClientInput = Exclude<VoiceInput, { type: 'end' }>

/** What a conversation reports to its call. */
export interface ConversationHost {
  /** The settings, if a client may have them. */
  configure(settings: VoiceSettings): void
  state(state: CallState): void
  /** Something happened: the call is not idle. */
  active(): void
}

/** What is said in one call: brings together what the client sends, what the engine reports, and who records it. */
class Conversation {
  readonly turns: UserTurns
  readonly responses: Responses
  /** Answers so far. */
  answers = 0
  readonly #scope: CallScope
  readonly #host: ConversationHost
  readonly #audio: CallAudio
  /** Undefined where nothing is recorded. */
  readonly #recorder: Recorder | undefined
  /** Milliseconds of audio that belong to no turn yet. */
  #pendingMs = 0
  #isSpeaking = false
  #isAway = false

  constructor(scope: CallScope, host: ConversationHost, audio: CallAudio, recorder: Recorder | undefined) {
    this.#scope = scope
    this.#host = host
    this.#audio = audio
    this.#recorder = recorder
    this.turns = new UserTurns(scope, (words) => this.responses.questions.take(words))
    const ended = (answering: Answering) => this.#ended(answering)
    const state = (next: CallState) => host.state(next)
    this.responses = new Responses(scope, { state, ended }, this.turns, audio)
  }

  /** False while someone speaks, an answer is being made, or the client is away. */
  get isIdle(): boolean {
    return !this.#isSpeaking && !this.#isAway && !this.responses.isBusy
  }

  /** Takes what the client does. */
  receive(input: ClientInput): void {
    const { responses } = this
    switch (input.type) {
      case 'audio':
        return this.#append(input.audio)
      case 'commit':
        return this.#attempt(() => this.#commit(input.itemId))
      case 'clear':
        this.#pendingMs = 0
        return this.#scope.engine.clear()
      case 'text':
      case 'file':
        return this.#attempt(() => this.#write(input))
      case 'respond':
        return responses.respond(input)
      case 'cancel':
        return responses.cancel()
      case 'truncate':
        return responses.truncate(input)
      case 'played':
        return responses.played(input)
      case 'configure':
        return this.#attempt(() => this.#configure(input.settings))
      case 'away':
      case 'back':
        return this.#connect(input.type === 'back')
      default:
        input satisfies never
    }
  }

  /** Takes what the engine reports. */
  take(event: Exclude<VoiceEngineEvent, { type: 'reconnect' | 'error' }>): void {
    const { interruption } = this.responses
    switch (event.type) {
      case 'speech.start':
      case 'speech.stop':
        this.#isSpeaking = event.type === 'speech.start'
        void this.#scope.link.send(event)
        if (!this.#isSpeaking) interruption.stop(event.itemId)
        return this.#host.active()
      case 'speech.interrupt':
        return interruption.speak(event.itemId)
      case 'turn':
        return this.#turn(event)
      case 'transcript':
        return this.#words(event)
      case 'transcript.failed':
        this.turns.fail(event)
        interruption.silence(event.itemId)
        return this.responses.next()
      default:
        if (event.type === 'audio' && event.of === 'answer') this.#recorder?.speak(event.samples)
        return this.responses.take(event)
    }
  }

  #append(bytes: Uint8Array): void {
    const { engine } = this.#scope
    const samples = this.#audio.decode(bytes)
    this.#pendingMs += (samples.length * 1000) / engine.inputRate
    this.#recorder?.listen(samples)
    engine.append(samples)
  }

  // What the client may not do is reported, and the call continues.
  #attempt(take: () => void): void {
    try {
      take()
    } catch (err) {
      sendError(this.#scope, err)
    }
  }

  #commit(itemId = newId('item')): void {
    const ms = Math.round(this.#pendingMs)
    if (ms < MIN_TURN) throw new VOICE_ERR_COMMIT_TOO_SHORT(ms)
    this.#scope.order.reserve(itemId)
    this.#scope.engine.commit(itemId)
  }

  #write(input: Extract<ClientInput, { type: 'text' | 'file' }>): void {
    const { itemId = newId('item'), respond } = input
    this.#scope.order.reserve(itemId)
    const isWaiting = this.turns.write(itemId, input.type === 'text' ? input.text : undefined)
    this.#scope.engine.write({ ...input, itemId })
    this.#host.active()
    if (isWaiting && respond === true) this.responses.respond({ type: 'respond' })
  }

  #configure(given: VoiceSettings): void {
    const { plan, engine } = this.#scope
    const { toolNames, toolsVary } = plan
    requireCaller({ kind: 'agent', toolNames, toolsVary }, given)
    const settings = mergeSettings(this.#scope.settings, given)
    this.#audio.configure(settings)
    this.#host.configure(settings)
    engine.configure(settings)
  }

  #connect(isBack: boolean): void {
    this.#isAway = !isBack
    this.#host.active()
    if (isBack) this.responses.resume()
    else this.responses.pause()
  }

  #turn(event: Extract<VoiceEngineEvent, { type: 'turn' }>): void {
    const { itemId, startMs, endMs } = event
    this.#pendingMs = 0
    this.#recorder?.turn(itemId, startMs, endMs)
    this.turns.add(event)
    this.responses.interruption.turn(itemId)
    this.responses.turn()
  }

  #words(event: Extract<VoiceEngineEvent, { type: 'transcript' }>): void {
    const { itemId, text, final } = event
    const { interruption, questions } = this.responses
    const wasAsked = questions.isWaiting
    this.turns.transcribe(event)
    if (wasAsked && !questions.isWaiting) interruption.answer()
    else interruption.words(itemId, text, final)
    if (final) this.responses.next()
  }

  #ended({ request, response, playback }: Answering): void {
    this.#host.active()
    if (request === undefined) return
    this.answers++
    this.#recorder?.answered(response.itemId, playback.ms)
  }
}

/** The settings with those that change. */
function mergeSettings(settings: VoiceSettings, change: VoiceSettings): VoiceSettings {
  const turns = { ...settings.turns, ...change.turns }
  return { ...settings, ...change, ...(Object.keys(turns).length > 0 && { turns }) }
}

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
      key: 'call',
      unsourced: true,
      answersCaller: true,
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
      plan,
      link,
      context,
      engine,
      events: this.#events,
      order: new CallOrder(),
      write,
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
      sessionId,
      durationMs,
      turns,
      interruptions,
      reason,
      usage
    }))
  }
}
