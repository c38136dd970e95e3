/**
 * Where the playback of a client is, in samples: in real time from where it was last known, but never beyond what was sent. Times are
 * milliseconds of a monotonic clock.
 */
export class PlayoutClock {
  readonly #rate: number
  #at = 0
  /** When playback was at `#at`; undefined while it is stopped. */
  #since: number | undefined
  #sent = 0

  /** @param rate samples per second */
  constructor(rate: number) {
    this.#rate = rate
  }

  /** Samples that were sent. */
  get sent(): number {
    return this.#sent
  }

  position(now: number): number {
    if (this.#since === undefined) return this.#at
    const played = Math.floor(((now - this.#since) * this.#rate) / 1000)
    return Math.min(this.#at + Math.max(played, 0), this.#sent)
  }

  /** Milliseconds until a place is played, if nothing stops it; negative if it was. */
  timeTo(place: number, now: number): number {
    return ((place - this.position(now)) * 1000) / this.#rate
  }

  /** More was sent: if all before was played, playback begins again now. */
  send(samples: number, now: number): void {
    const at = this.position(now)
    if (at === this.#sent && this.#since !== undefined) this.set(at, now)
    this.#sent += samples
  }

  /** Playback is at a place. */
  set(place: number, now: number): void {
    this.#at = Math.min(place, this.#sent)
    if (this.#since !== undefined) this.#since = now
  }

  /** What was sent beyond a place is discarded. */
  cut(place: number): void {
    this.#sent = place
    this.#at = Math.min(this.#at, place)
  }

  start(now: number): void {
    this.#since ??= now
  }

  stop(now: number): void {
    this.#at = this.position(now)
    this.#since = undefined
  }
}
