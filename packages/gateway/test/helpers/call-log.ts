import type { VoiceStartEvent } from '@svc/gateway'
import type { Client } from './build-gateway.ts'

/** An event of a call as it came. */
interface CallEvent {
  readonly event: string
  readonly position?: number
  readonly [field: string]: unknown
}

/** The events that a client is sent, with the audio. */
export class CallLog {
  readonly all: CallEvent[] = []
  #onNews: (() => void) | undefined

  constructor(client: Client) {
    this.listen(client)
  }

  /** Logs the events of another client, too. */
  listen(client: Client): void {
    client.onAny((event: string, payload: object) => {
      this.all.push({ event, ...payload })
      this.#onNews?.()
    })
  }

  of(event: string): CallEvent[] {
    return this.all.filter((each) => each.event === event)
  }

  /** All audio so far. */
  get audio(): Buffer {
    return Buffer.concat(this.of('voice.audio').map(({ audio }) => audio as Buffer))
  }

  /** The positions of all outputs, as they came. */
  get positions(): number[] {
    return this.all.flatMap(({ position = [] }) => position)
  }

  /** Waits until an event has come so many times. */
  async until(event: string, count = 1): Promise<CallEvent> {
    await this.untilTrue(() => this.of(event).length >= count)
    return this.of(event)[count - 1]!
  }

  async untilTrue(isTrue: () => boolean): Promise<void> {
    while (!isTrue()) await new Promise<void>((resolve) => (this.#onNews = resolve))
  }
}

/** Calls the agent `voice`. @throws if the start is refused */
export async function startCall(
  client: Client,
  payload: Partial<VoiceStartEvent> = {}
): Promise<{ runId: string; sessionId: string }> {
  const answer = await client.emitWithAck('voice.start', { name: 'voice', ...payload })
  if ('error' in answer) throw new Error(`${answer.code}: ${answer.error}`)
  return answer
}

/** Sends audio in frames. */
export function sendAudio(client: Client, audio: Buffer, frame = 960): void {
  for (let at = 0; at < audio.length; at += frame) client.emit('voice.audio', audio.subarray(at, at + frame))
}
