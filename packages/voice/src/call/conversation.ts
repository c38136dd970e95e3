import type { VoiceInput, VoiceSettings } from '@svc/contract'
import { requireCaller } from '@svc/registry/engine'
import type { VoiceEngineEvent } from '../engines/engine.ts'
import { VOICE_ERR_COMMIT_TOO_SHORT } from '../errors.ts'
import type { Answering } from './answering.ts'
import type { CallAudio } from './call-audio.ts'
import { newId, sendError, type CallScope } from './call-scope.ts'
import type { Recorder } from './recorder.ts'
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
export class Conversation {
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
