import type { AudioFormat } from '@svc/contract'

/** Estimates whether a client is playing audio: in real time, from when it was sent. */
export class Playback {
  #endsAt = 0

  /** True while audio is being played. @param now milliseconds of a monotonic clock */
  isPlaying(now = performance.now()): boolean {
    return this.#endsAt > now
  }

  /** Audio was sent. */
  add(bytes: number, { type, rate }: AudioFormat, now = performance.now()): void {
    const samples = type === 'audio/pcm' ? bytes / 2 : bytes
    this.#endsAt = Math.max(this.#endsAt, now) + (samples / rate) * 1_000
  }

  /** The client discards what it has not played. */
  cut(): void {
    this.#endsAt = 0
  }
}
