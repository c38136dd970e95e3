import { isDeepStrictEqual } from 'node:util'
import type { VoiceSettings } from '@svc/contract'
import { errors } from '@svc/runtime'
import type { EngineHost } from '../engine.ts'
import { RATE, toSessionConfig, type Briefing, type RealtimePlan } from './realtime-plan.ts'
import type { Conversation } from './conversation.ts'
import { RealtimeCodec, type Abilities, type RealtimeModel } from './realtime-codec.ts'
import type { RealtimeSocket } from './realtime-socket.ts'
import { ResponseQueue } from './response-queue.ts'
import type { ServerEvent } from './events.ts'
import { Upstream } from './upstream.ts'
import { UserSpeech } from './user-speech.ts'

type Raw = Readonly<Record<string, unknown>>

/** Milliseconds until Google ends a connection, of its `goAway` event; undefined if it does not say. */
function timeLeftOf(raw: Raw): number | undefined {
  const { timeLeft } = (raw['goAway'] ?? {}) as { timeLeft?: unknown }
  const seconds = typeof timeLeft === 'string' ? Number.parseFloat(timeLeft) : Number.NaN
  return seconds >= 0 ? seconds * 1_000 : undefined
}

/** True if Google marks the transcript of an utterance as complete. */
function isFinished(raw: Raw): boolean {
  const { serverContent, inputTranscription = serverContent?.inputTranscription } = raw as {
    serverContent?: { inputTranscription?: { finished?: boolean } }
    inputTranscription?: { finished?: boolean }
  }
  return inputTranscription?.finished === true
}

/** The id of the client's event that an `error` event is about. */
function refusedEventOf(raw: Raw): string | undefined {
  const { event_id: id } = (raw['error'] ?? {}) as { event_id?: unknown }
  return typeof id === 'string' ? id : undefined
}

/** A code that is a plain word; anything else may quote what was sent. */
function toPlainCode(code: string | undefined): string | undefined {
  return code !== undefined && /^[a-z_]{1,64}$/.test(code) ? code : undefined
}

/** What a session is made of. */
export interface SessionParts {
  readonly plan: RealtimePlan
  readonly model: RealtimeModel
  readonly host: EngineHost
  readonly conversation: Conversation
  readonly briefing: Briefing
  /** The model's items of the answers so far are gone. */
  readonly onRestore: () => void
}

// Milliseconds.
const MAX_CANCEL = 3_000
const COMMIT = 'commit'
const PARTIAL = 'conversation.item.input_audio_transcription.delta'
const FAILED = 'conversation.item.input_audio_transcription.failed'

/** The session of a call with its model, over as many connections as it takes. */
export class ModelSession {
  readonly queue: ResponseQueue
  readonly abilities: Abilities
  readonly #speech: UserSpeech
  readonly #parts: SessionParts
  readonly #upstream: Upstream
  #briefing: Briefing
  #settings: VoiceSettings
  // Words of turns that are still arriving, by the model's items.
  readonly #partial = new Map<string, string>()
  // That of the connection.
  #voice: string | undefined
  // Turns in writing that a provider answers by itself.
  #written = 0
  #isAnswering = false

  constructor(parts: SessionParts) {
    const { plan, model, host, conversation } = parts
    const { log, runId } = host.context
    this.#parts = parts
    this.#briefing = parts.briefing
    this.#settings = host.settings
    this.abilities = new RealtimeCodec(model).abilities
    this.queue = new ResponseQueue({
      abilities: () => this.socket && this.abilities,
      send: (event, eventId) => this.#upstream.send(event, eventId),
      instructions: () => this.#briefing.instructions,
      cancelTimeout: Math.min(plan.times.response / 2, MAX_CANCEL),
      onStuck: () => this.#upstream.renew('unresponsive')
    })
    this.#speech = new UserSpeech({
      rate: RATE,
      interruptAfter: plan.turns.interruptAfter,
      silence: () => this.#settings.turns?.silence ?? plan.turns.silence,
      detects: () => this.#settings.turns?.detect !== false,
      notify: host.notify,
      onTurn: (turn) => conversation.addTurn(turn)
    })
    this.#upstream = new Upstream({
      model,
      retry: plan.agent.retry,
      times: plan.times,
      log,
      runId,
      config: () => this.#config(),
      restore: (socket) => this.#restore(socket),
      onEvent: (event) => this.#take(event),
      onReconnect: (attempt, reason) => host.notify({ type: 'reconnect', attempt, reason }),
      onFatal: (error) => {
        this.queue.close({ status: 'failed' })
        host.notify({ type: 'error', error, fatal: true })
      }
    })
  }

  /** The connection; undefined while there is none. */
  get socket(): RealtimeSocket | undefined {
    return this.#upstream.socket
  }

  /** True while an answer is wanted: a connection is then not replaced unless it must be. */
  set isAnswering(isAnswering: boolean) {
    this.#isAnswering = isAnswering
    this.#rest()
  }

  /** Connects. @throws RUN_ERR_MODEL_… */
  open(): Promise<void> {
    return this.#upstream.open()
  }

  /** The turn of this id, if it was spoken. */
  turn(itemId: string) {
    return this.#speech.turn(itemId)
  }

  append(samples: Int16Array): void {
    this.#upstream.send({ type: 'input-audio-append', audio: this.#speech.append(samples) })
  }

  commit(itemId: string): void {
    this.#speech.commit(itemId)
    this.#upstream.send({ type: 'input-audio-commit' }, COMMIT)
  }

  clear(): void {
    this.#speech.clear()
    this.#upstream.send({ type: 'input-audio-clear' })
  }

  /** Adds a turn in writing. */
  write(itemId: string, text: string): void {
    const { conversation } = this.#parts
    const message = conversation.addMessage('user', text)
    this.#written++
    if (this.socket !== undefined) conversation.send(this.socket, { message })
    this.#speech.write(itemId)
  }

  /** Adds a turn that was recorded. */
  writeAudio(itemId: string, samples: Int16Array): void {
    const { socket } = this
    const audio = this.#speech.write(itemId, samples)
    if (socket !== undefined) this.#sendTurn(socket, audio)
  }

  /** A turn of this id cannot be read. */
  refuse(itemId: string, error: unknown): void {
    this.#speech.write(itemId)
    this.#parts.host.notify({ type: 'transcript.failed', itemId, error })
  }

  /** Changes instructions and tools, from the next response on. */
  brief(briefing: Briefing): void {
    if (isDeepStrictEqual(briefing, this.#briefing)) return
    this.#briefing = briefing
    this.#update()
  }

  configure(settings: VoiceSettings): void {
    this.#settings = settings
    this.#update()
  }

  /** Ends part of the conversation that was not played. */
  truncate(itemId: string, audioEndMs: number): void {
    this.#upstream.send({ type: 'conversation-item-truncate', itemId, contentIndex: 0, audioEndMs })
  }

  close(): void {
    this.queue.close({ status: 'canceled' })
    this.#speech.close()
    this.#upstream.close()
  }

  #config() {
    const { plan, conversation } = this.#parts
    const { instructions, tools } = this.#briefing
    const text = this.abilities.items ? undefined : conversation.toText()
    return toSessionConfig(plan, this.#settings, {
      instructions: [instructions, text].filter(Boolean).join('\n\n'),
      tools
    })
  }

  // Sessions of providers without items cannot change. Those with items refuse another voice once the model has spoken.
  #update(): void {
    if (!this.abilities.items) return this.#upstream.expire()
    const { voice, ...config } = this.#config()
    this.#upstream.send({ type: 'session-update', config })
    if (voice === undefined || voice === this.#voice) return
    this.#voice = voice
    this.#upstream.send({ type: 'session-update', config: { voice } })
  }

  #restore(socket: RealtimeSocket): void {
    const { conversation, onRestore } = this.#parts
    onRestore()
    this.#partial.clear()
    this.#voice = this.#config().voice
    this.#written = 0
    const unheard = conversation.restore(socket, (audio) => this.#sendTurn(socket, audio))
    for (const audio of this.#speech.restore(unheard)) socket.send({ type: 'input-audio-append', audio })
    this.queue.restore()
  }

  // A whole turn, in which the model must find no other ones.
  #sendTurn(socket: RealtimeSocket, frames: readonly string[]): void {
    const { voice: _, ...config } = this.#config()
    const detects = this.abilities.items && config.turnDetection?.type !== 'disabled'
    const turnDetection = { type: 'disabled' } as const
    if (detects) socket.send({ type: 'session-update', config: { ...config, turnDetection } })
    for (const audio of frames) socket.send({ type: 'input-audio-append', audio })
    socket.send({ type: 'input-audio-commit' }, COMMIT)
    if (detects) socket.send({ type: 'session-update', config })
  }

  #rest(): void {
    this.#upstream.isBusy = this.#isAnswering || this.#speech.isActive
  }

  #take(event: ServerEvent): void {
    const { log, runId } = this.#parts.host.context
    switch (event.type) {
      case 'speech-started':
        this.#speech.started(event)
        if (!this.abilities.items) {
          this.queue.interrupted()
          this.#speech.interrupted()
        }
        break
      case 'speech-stopped':
        this.#speech.stopped(event)
        break
      case 'audio-committed':
        this.#upstream.confirm()
        this.#speech.committed(event)
        break
      case 'input-transcription-completed':
        this.#upstream.confirm()
        this.#transcribe(event)
        break
      case 'session-closed':
        this.#upstream.renew('session-closed')
        break
      case 'error':
        log.debug({ runId, code: toPlainCode(event.code) }, 'a realtime model refused an event')
        this.#refuse(event)
        break
      case 'custom':
        this.#takeCustom(event)
        break
      default:
        if ('responseId' in event) this.#takeResponse(event)
    }
    this.#rest()
  }

  #transcribe({
    itemId,
    transcript,
    raw
  }: Extract<ServerEvent, { type: 'input-transcription-completed' }>): void {
    if (this.abilities.items) {
      this.#partial.delete(itemId)
      this.#speech.transcribe(itemId, transcript, true)
      return
    }
    this.#speech.overhear(itemId, transcript, isFinished(raw))
  }

  #takeResponse(event: Extract<ServerEvent, { responseId: string }>): void {
    if (!this.abilities.items && this.queue.isNew(event.responseId)) {
      if (this.#speech.isOpen || !(this.queue.isBusy || this.#written > 0)) this.#speech.answered()
      this.#written = 0
    }
    this.queue.take(event)
    if (event.type !== 'response-done') return
    this.#upstream.confirm()
    if (!this.abilities.items) this.#speech.settled()
  }

  // What the codecs pass on as it is.
  #takeCustom({ rawType, raw }: Extract<ServerEvent, { type: 'custom' }>): void {
    const { item_id: itemId, delta } = raw
    if (rawType === 'goAway') this.#upstream.expire(timeLeftOf(raw))
    else if (rawType === 'toolCallCancellation') this.#parts.conversation.forgetCalls()
    else if (typeof itemId !== 'string') return
    else if (rawType === FAILED) this.#speech.fail(itemId, new errors.RUN_ERR_MODEL_FAILED())
    else if (rawType === PARTIAL && typeof delta === 'string') {
      const text = (this.#partial.get(itemId) ?? '') + delta
      this.#partial.set(itemId, text)
      this.#speech.transcribe(itemId, text, false)
    }
  }

  #refuse({ code, clientEventId, raw }: Extract<ServerEvent, { type: 'error' }>): void {
    const eventId = clientEventId ?? refusedEventOf(raw)
    if (eventId === COMMIT) this.#speech.refuseCommit(new errors.RUN_ERR_MODEL_REFUSED())
    else if (typeof eventId === 'string') this.queue.refuse(eventId, code)
  }
}
