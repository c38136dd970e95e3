import type { VoiceOutput } from '@svc/contract'
import type { CallConnection, CallEnd, LiveCall } from '@svc/surface'
import type { Socket } from 'socket.io'
import type { Outlet } from '../delivery/outlet.ts'
import type { VoiceDoneEvent } from '../events/voice-server-events.ts'

/** What a call's socket needs. */
interface CallSocketOptions {
  readonly call: Pick<LiveCall, 'runId' | 'acknowledged'>
  readonly socket: Pick<Socket, 'emit' | 'conn'>
  readonly outlet: Pick<Outlet, 'writable' | 'onWritable'>
  /** Called when the socket has the call no longer. */
  left(): void
}

/**
 * The socket of a call: outputs as events, each once the socket has taken the one before. A client that answers a ping of Engine.IO has
 * received what was sent before it.
 */
export class CallSocket implements CallConnection {
  readonly #options: CallSocketOptions
  #sent = 0
  #sentBeforePing = 0

  constructor(options: CallSocketOptions) {
    this.#options = options
    const { conn } = options.socket
    conn.on('packetCreate', this.#onPacket)
    conn.on('heartbeat', this.#onPong)
  }

  send(output: VoiceOutput, position: number): Promise<void> | undefined {
    const { call, socket, outlet } = this.#options
    const [name, payload] = toEvent(output)
    socket.emit(name, { runId: call.runId, position, ...payload })
    this.#sent = position
    return outlet.writable ? undefined : new Promise((resolve) => outlet.onWritable(resolve))
  }

  ended(end: CallEnd): void {
    const { status } = end
    const cause = status === 'failed' ? { error: end.error.message, code: end.error.code } : {}
    this.#leave({ status, ...cause })
  }

  replaced(): void {
    this.#leave({ status: 'replaced' })
  }

  /** The socket sends no more of the call. */
  close(): void {
    const { conn } = this.#options.socket
    conn.off('packetCreate', this.#onPacket)
    conn.off('heartbeat', this.#onPong)
  }

  #leave(how: Omit<VoiceDoneEvent, 'runId'>): void {
    const { call, socket, left } = this.#options
    this.close()
    socket.emit('voice.done', { runId: call.runId, ...how })
    left()
  }

  readonly #onPacket = ({ type }: { type: string }): void => {
    if (type === 'ping') this.#sentBeforePing = this.#sent
  }

  readonly #onPong = (): void => this.#options.call.acknowledged(this.#sentBeforePing)
}

function toEvent(output: VoiceOutput): [name: string, payload: object] {
  const { type, ...payload } = output
  if (output.type === 'error') return ['voice.error', { error: output.message, code: output.code }]
  if (output.type !== 'audio') return [`voice.${type}`, payload]
  const { buffer, byteOffset, byteLength } = output.audio
  return ['voice.audio', { ...payload, audio: Buffer.from(buffer, byteOffset, byteLength) }]
}
