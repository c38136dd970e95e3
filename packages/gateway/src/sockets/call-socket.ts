import type { VoiceOutput } from '@svc/registry'
import type { CallConnection, CallEnd } from '@svc/registry/kit'
import type { Socket } from 'socket.io'
import type { Outlet } from '../delivery/outlet.ts'
import type { VoiceDoneEvent } from '../events/voice-server-events.ts'

/** The socket of a call: outputs as events, each once the socket has taken the one before. */
export class CallSocket implements CallConnection {
  readonly #runId: string
  readonly #socket: Pick<Socket, 'emit'>
  readonly #outlet: Pick<Outlet, 'writable' | 'onWritable'>
  readonly #over: () => void

  /** @param over called when the socket has the call no longer */
  constructor(
    runId: string,
    { socket, outlet, over }: { socket: Pick<Socket, 'emit'>; outlet: Outlet; over: () => void }
  ) {
    this.#runId = runId
    this.#socket = socket
    this.#outlet = outlet
    this.#over = over
  }

  send(output: VoiceOutput, position: number): Promise<void> | undefined {
    const [name, payload] = toEvent(output)
    this.#socket.emit(name, { runId: this.#runId, position, ...payload })
    const outlet = this.#outlet
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

  #leave(how: Omit<VoiceDoneEvent, 'runId'>): void {
    this.#socket.emit('voice.done', { runId: this.#runId, ...how })
    this.#over()
  }
}

function toEvent(output: VoiceOutput): [name: string, payload: object] {
  const { type, ...payload } = output
  if (output.type === 'error') return ['voice.error', { error: output.message, code: output.code }]
  if (output.type !== 'audio') return [`voice.${type}`, payload]
  const { buffer, byteOffset, byteLength } = output.audio
  return ['voice.audio', { ...payload, audio: Buffer.from(buffer, byteOffset, byteLength) }]
}
