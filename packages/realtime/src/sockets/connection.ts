import type { IncomingHttpHeaders } from 'node:http'
import { codeOf, defined, randomId, type Awaitable, type RunLog, type VoiceOutput } from '@svc/contract'
import { RUN_ERR_NOT_FOUND } from '@svc/contract/errors'
import { logFault, type CallConnection, type CallEnd, type LiveCall } from '@svc/surface'
import { CLOSE, closeCodeOf, FrameRate, FrameSocket, onExpiry, type WebSocket } from '@svc/surface/sockets'
import { Conversation } from '../conversation/conversation.ts'
import {
  RT_ERR_BINARY_FRAME,
  RT_ERR_NOT_STARTED,
  RT_ERR_REPLACED,
  RT_ERR_TOKEN_EXPIRED,
  RT_ERR_TOO_MANY_EVENTS
} from '../errors.ts'
import { readEvent, toClientError, type EventOrigin } from '../events/read-event.ts'
import type { Emit, Unsent } from '../events/server-events.ts'
import type { SessionConfig } from '../events/session.ts'
import { answerCalls, handleEvent, type Caller } from '../handlers/handle-event.ts'
import { projectOutput } from '../projection/project-output.ts'
import { configuresCall, SessionState } from '../sessions/session-state.ts'
import type { Surface } from '../surface.ts'
import type { Handshake } from './admit-handshake.ts'

/** The close code where another connection has the call. */
export const CLOSE_REPLACED = 4001

/** Bytes of frames that may wait for a call to begin. */
const MAX_BYTES = 4_194_304

/** Bounds the frames of a connection, and keeps those that arrive before they can be handled. */
class FrameIntake {
  readonly #rate: FrameRate
  #frames: Buffer[] = []
  #bytes = 0
  #isHolding = true

  /** @param perSecond frames within a second of the clock */
  constructor(perSecond: number) {
    this.#rate = new FrameRate(perSecond)
  }

  /**
   * Counts a frame; true if it is to be handled now, false if it is kept.
   * @throws RT_ERR_TOO_MANY_EVENTS, RT_ERR_NOT_STARTED
   */
  take(frame: Buffer): boolean {
    if (!this.#rate.take()) throw new RT_ERR_TOO_MANY_EVENTS()
    if (!this.#isHolding) return true
    this.#bytes += frame.byteLength
    if (this.#bytes > MAX_BYTES) throw new RT_ERR_NOT_STARTED()
    this.#frames.push(frame)
    return false
  }

  /** Keeps frames from now on. @param first a frame that must be handled before them */
  hold(first?: Buffer): void {
    this.#isHolding = true
    if (first === undefined) return
    this.#frames.unshift(first)
    this.#bytes += first.byteLength
  }

  /** Handles the kept frames in their order, until one of them makes the connection hold the others. */
  release(handle: (frame: Buffer) => void): void {
    this.#isHolding = false
    for (let frame = this.#next(); frame !== undefined; frame = this.#next()) handle(frame)
  }

  #next(): Buffer | undefined {
    const frame = this.#isHolding ? undefined : this.#frames.shift()
    this.#bytes -= frame?.byteLength ?? 0
    return frame
  }
}

/** Milliseconds for a client to configure its session before its call begins. */
const START_DELAY = 1_000
/** The close codes of a client that hung up: it closed the WebSocket itself, with a code or without. */
const HANGUPS: readonly number[] = [1000, 1005]
/** The errors of a start whose cause is the configuration, so that the client may send another. */
const CONFIGURATION_ERRORS: readonly unknown[] = [
  'RUN_ERR_TOOL_NAME_TAKEN',
  'RUN_ERR_BAD_INPUT',
  'RUN_ERR_CLIENT_INSTRUCTIONS',
  'RUN_ERR_CLIENT_TOOLS'
]

/** Sends events over a socket, each with an id. */
function createEmit(socket: FrameSocket): Emit {
  const prefix = `event_${randomId()}_`
  let count = 0
  return ({ type, ...fields }) => {
    if (!socket.isOpen) return
    socket.send(JSON.stringify({ type, event_id: `${prefix}${++count}`, ...fields }))
  }
}

// The event of an error, and the client event at fault.
function toErrorEvent(err: unknown, eventId: string | null): Unsent {
  const { statusCode: _, ...error } = toClientError(err)
  return { type: 'error', error: { ...error, event_id: eventId } }
}

/** The `session.update` that a call begins with. */
interface FirstUpdate {
  readonly eventId: string | null
  undo(): void
}

/** One WebSocket: its client, and the call that it is in. */
export class Connection implements CallConnection {
  readonly #surface: Surface
  readonly #ws: WebSocket
  readonly #socket: FrameSocket
  readonly #emit: Emit
  readonly #headers: IncomingHttpHeaders
  readonly #log: RunLog
  readonly #intake: FrameIntake
  #handshake: Handshake | undefined
  #conversation: Conversation | undefined
  #caller: (Caller & { readonly call: LiveCall }) | undefined
  #closeCode: number | undefined
  #startTimer: NodeJS.Timeout | undefined
  #expiryTimer: NodeJS.Timeout | undefined

  constructor(
    surface: Surface,
    ws: WebSocket,
    { headers, log }: { headers: IncomingHttpHeaders; log: RunLog }
  ) {
    this.#surface = surface
    this.#ws = ws
    this.#headers = headers
    this.#log = log
    this.#socket = new FrameSocket(ws, surface.heartbeat)
    this.#emit = createEmit(this.#socket)
    this.#intake = new FrameIntake(surface.settings.limits.eventsPerSecond)
    ws.on('message', (data: Buffer, isBinary) => this.#take(data, isBinary))
    ws.once('close', (code) => this.#left(code))
  }

  /** Serves the client once it is admitted. Never rejects. */
  async begin(admitting: Promise<Handshake>): Promise<void> {
    try {
      const handshake = await admitting
      this.#handshake = handshake
      this.#expiryTimer = onExpiry(handshake.principal, () => this.#end(new RT_ERR_TOKEN_EXPIRED()))
      if (handshake.call === undefined) this.#create(handshake)
      else await this.#resume(handshake.call, handshake)
      this.#release()
    } catch (err) {
      this.#end(err)
    }
  }

  /** An output of the call. */
  send(output: VoiceOutput, position: number): Awaitable<void> {
    const conversation = this.#conversation!
    conversation.position = position
    projectOutput(conversation, output, this.#emit)
    // Outputs that the client gave without asking for a response belong to the next turn.
    if (output.type === 'item' && this.#caller !== undefined) answerCalls(this.#caller, null)
    return this.#socket.untilWritable()
  }

  ended(end: CallEnd): void {
    if (end.status === 'failed') {
      const error = { type: 'server_error', ...end.error, param: null, event_id: null }
      this.#emit({ type: 'error', error })
      return this.#socket.close(CLOSE.failed, end.error.code)
    }
    const isRestart = this.#surface.runs.draining
    this.#socket.close(isRestart ? CLOSE.restart : CLOSE.ended, isRestart ? 'shutdown' : end.status)
  }

  replaced(): void {
    this.#emit(toErrorEvent(new RT_ERR_REPLACED(), null))
    this.#socket.close(CLOSE_REPLACED, 'replaced')
  }

  #create({ model, secret }: Handshake): void {
    const state = new SessionState(`sess_${randomId()}`, model!)
    if (secret !== undefined) state.update(secret.session)
    this.#conversation = new Conversation(state)
    this.#emit({ type: 'session.created', session: state.toWire() })
    this.#startTimer = setTimeout(() => this.#start(), START_DELAY).unref()
  }

  async #resume(runId: string, handshake: Handshake): Promise<void> {
    const conversation = this.#surface.conversations.get(runId)
    this.#conversation = conversation
    if (conversation !== undefined && !mayContinue(conversation, handshake))
      throw new RUN_ERR_NOT_FOUND(runId)
    const call = await this.#surface.calls.resume(runId, handshake.principal)
    this.#greet(conversation!)
    this.#join(call)
    this.#continue(call, conversation!.position)
    if (this.#closeCode !== undefined) this.#left(this.#closeCode)
  }

  #continue(call: LiveCall, after: number): void {
    try {
      call.connect(this, after)
    } catch (err) {
      if (codeOf(err) !== 'VOICE_ERR_OUTPUT_GONE') throw err
      // Too much came meanwhile: the client continues with what comes now.
      call.connect(this)
    }
  }

  // The conversation of a call that is in progress.
  #greet(conversation: Conversation): void {
    const { session, id } = conversation
    if (this.#handshake?.call !== undefined)
      this.#emit({ type: 'session.created', session: session.toWire() })
    this.#emit({ type: 'conversation.created', conversation: { id, object: 'realtime.conversation' } })
  }

  #start(update?: FirstUpdate): void {
    clearTimeout(this.#startTimer)
    this.#intake.hold()
    const { principal, sessionId, userId } = this.#handshake!
    const { session } = this.#conversation!
    const asked = {
      name: session.model,
      principal,
      headers: this.#headers,
      settings: session.toSettings(),
      ...defined({ sessionId, userId }),
      // Clients of the protocol discard audio when speech starts, and report with `truncate` what they have played.
      canClear: true,
      reportsPlayback: true
    }
    this.#surface.calls.start(asked).then(
      (call) => this.#started(call, update),
      (err: unknown) => this.#notStarted(err, update)
    )
  }

  #started(call: LiveCall, update: FirstUpdate | undefined): void {
    const { conversations } = this.#surface
    const conversation = this.#conversation!
    conversation.id = call.runId
    conversation.secretId = this.#handshake!.secret?.id
    conversations.set(call.runId, conversation)
    void call.over.then(() => conversations.delete(call.runId))
    this.#join(call)
    this.#greet(conversation)
    if (update !== undefined) this.#emit({ type: 'session.updated', session: conversation.session.toWire() })
    call.connect(this, 0)
    if (this.#closeCode !== undefined) return this.#left(this.#closeCode)
    this.#release()
  }

  #notStarted(err: unknown, update: FirstUpdate | undefined): void {
    update?.undo()
    if (update === undefined || !CONFIGURATION_ERRORS.includes(codeOf(err))) return this.#end(err)
    this.#fail(err, update.eventId)
    this.#startTimer = setTimeout(() => this.#start(), START_DELAY).unref()
    this.#release()
  }

  #join(call: LiveCall): void {
    this.#caller = {
      conversation: this.#conversation!,
      call,
      emit: this.#emit,
      fail: (err, eventId) => this.#fail(err, eventId)
    }
  }

  #take(frame: Buffer, isBinary: boolean): void {
    if (this.#ws.readyState !== this.#ws.OPEN) return
    try {
      if (isBinary) throw new RT_ERR_BINARY_FRAME()
      if (this.#intake.take(frame)) this.#receive(frame)
    } catch (err) {
      this.#fail(err, null)
      this.#ws.close(isBinary ? CLOSE.unsupported : CLOSE.refused, codeOf(err))
    }
  }

  #release(): void {
    this.#intake.release((frame) => this.#receive(frame))
  }

  #receive(frame: Buffer): void {
    const origin: EventOrigin = { eventId: null }
    try {
      const event = readEvent(frame, this.#surface.jsonDepth, origin)
      if (this.#caller !== undefined) return handleEvent(this.#caller, event)
      if (event.type === 'session.update') return this.#configure(event.session, origin)
      this.#intake.hold(frame)
      return this.#start()
    } catch (err) {
      return this.#fail(err, origin.eventId)
    }
  }

  // Configures the session before the call. Some clients switch tracing first, and send what matters after that.
  #configure(config: SessionConfig, origin: EventOrigin): void {
    const { session } = this.#conversation!
    const undo = session.update(config)
    if (configuresCall(config)) return this.#start({ undo, ...origin })
    this.#emit({ type: 'session.updated', session: session.toWire() })
  }

  // The client has left, or was disconnected.
  #left(code: number): void {
    this.#closeCode = code
    clearTimeout(this.#startTimer)
    clearTimeout(this.#expiryTimer)
    const call = this.#caller?.call
    if (HANGUPS.includes(code)) call?.end('hangup')
    else call?.disconnect(this)
  }

  #fail(err: unknown, eventId: string | null): void {
    this.#emit(toErrorEvent(err, eventId))
    const { code, statusCode } = toClientError(err)
    logFault(this.#log, 'event', { code, statusCode }, err, { headers: this.#headers })
  }

  // Ends the connection with an error.
  #end(err: unknown): void {
    this.#fail(err, null)
    const { statusCode, code } = toClientError(err)
    this.#socket.close(closeCodeOf(statusCode), code)
  }
}

// The maker of a secret may continue the calls of its page, but no page continues the calls of another.
function mayContinue({ id, secretId, session }: Conversation, { model, secret }: Handshake): boolean {
  if (model !== undefined && model !== session.model) return false
  return secret === undefined || secret.id === secretId || secret.sealed.call === id
}
