import { isPromise, type AudioFormat, type VoiceLink, type VoiceOutput } from '@svc/contract'
import { SpokenItems, type Cut, type SpokenOf } from './spoken-items.ts'

/**
 * Where the playback of a client is, in samples: in real time from where it was last known, but never beyond what was sent. Times are
 * milliseconds of a monotonic clock.
 */
class PlayoutClock {
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

/** Milliseconds of one `audio` output. */
const CHUNK = 100

/** Audio in the output format, at its place in the response. */
interface Chunk {
  readonly start: number
  readonly bytes: Uint8Array
}

/** The end of the audio so far, and what follows it. */
interface Queued {
  readonly at: number
  readonly make: () => VoiceOutput
}

/**
 * Sends the audio of one response and estimates how much of it was played. Outputs that must follow the audio wait for it. Places are
 * samples at the rate of the output format.
 */
export class Playout {
  readonly #link: VoiceLink
  readonly #format: AudioFormat
  readonly #width: number
  readonly #clock: PlayoutClock
  readonly #items: SpokenItems
  /** Audio that is to be sent, or may have to be sent again. */
  #chunks: Chunk[] = []
  #next = 0
  #queued: Queued[] = []
  #written = 0
  /** The most that was ever sent. */
  #furthest = 0
  #state: 'open' | 'held' | 'away' | 'ended' = 'open'
  #isWaiting = false
  #timer: NodeJS.Timeout | undefined
  #onPlayed: (() => void) | undefined

  constructor(link: VoiceLink, format: AudioFormat) {
    this.#link = link
    this.#format = format
    this.#width = format.type === 'audio/pcm' ? 2 : 1
    this.#clock = new PlayoutClock(format.rate)
    this.#items = new SpokenItems(format.rate)
  }

  /** Milliseconds until all audio so far is played. */
  get playsFor(): number {
    return Math.max(this.#clock.timeTo(this.#written, performance.now()), 0)
  }

  /** True once audio was sent. */
  get hasBegun(): boolean {
    return this.#furthest > 0
  }

  get #position(): number {
    return this.#clock.position(performance.now())
  }

  /** What was played so far. */
  get cut(): Cut {
    return this.#items.cutAt(this.#position)
  }

  /** Milliseconds of the answer's own audio before a time of an item. */
  answerMsAt(itemId: string, ms: number): number {
    return this.#items.cutAt(this.#items.placeOf(itemId, ms) ?? 0).answerMs
  }

  /** Milliseconds of the item that was begun last. */
  durationOf(itemId: string): number {
    return this.#items.msOf(itemId, this.#written)
  }

  /** Audio from now on belongs to this item. */
  begin(itemId: string, responseId: string): void {
    this.#items.begin(itemId, responseId)
  }

  /** Takes audio in the output format. */
  write(bytes: Uint8Array, of: SpokenOf): void {
    if (this.#state === 'ended') return
    const step = Math.round((this.#format.rate * CHUNK) / 1000) * this.#width
    for (let from = 0; from < bytes.length; from += step) {
      const part = bytes.subarray(from, from + step)
      this.#chunks.push({ start: this.#written, bytes: part })
      this.#written += part.length / this.#width
      this.#items.add(part.length / this.#width, of)
    }
    this.#pump()
  }

  /** Sends an output after all audio so far; it is made then. */
  send(make: () => VoiceOutput): void {
    const isNext = this.#next === this.#chunks.length && this.#queued.length === 0
    if (this.#state === 'ended' || (this.#state === 'open' && isNext)) void this.#link.send(make())
    else this.#queued.push({ at: this.#written, make })
  }

  /** Calls back once all audio so far was played; at once if it was. */
  whenPlayed(listener: () => void): void {
    this.#onPlayed = listener
    this.#watch()
  }

  /** The client has played `ms` milliseconds of an item. */
  report(itemId: string, ms: number): void {
    const place = this.#items.placeOf(itemId, ms)
    if (place === undefined || this.#state !== 'open') return
    this.#clock.set(place, performance.now())
    this.#pump()
    this.#watch()
  }

  /** Stops sending, and the clock. */
  hold(): void {
    if (this.#state === 'ended') return
    this.#stop('held')
    this.#clock.cut(this.#position)
  }

  /** Resumes after `hold`: what the client has discarded is sent again. */
  release(): void {
    if (this.#state !== 'held') return
    this.#rewind(this.#clock.sent)
    this.#start()
  }

  /** Discards what was not played; other audio may follow. */
  skip(): void {
    if (this.#state === 'ended') return
    this.#stop('held')
    this.#clock.cut(this.#position)
    this.#items.cut(this.#clock.sent)
    this.#chunks = []
    this.#next = 0
    this.#written = this.#clock.sent
    this.#start()
  }

  /** The client is away: it plays nothing. What it has received stays received. */
  pause(): void {
    if (this.#state === 'open') this.#stop('away')
  }

  /** The client is back. */
  resume(): void {
    if (this.#state === 'away') this.#start()
  }

  /** Milliseconds of an item that were sent. */
  sentOf(itemId: string): number {
    return this.#items.msOf(itemId, this.#furthest)
  }

  /** Corrects where `hold` has stopped, as the client reports it: at most what was sent. */
  truncate(itemId: string, heardMs: number): void {
    const place = Math.min(this.#items.placeOf(itemId, heardMs) ?? 0, this.#furthest)
    if (this.#state !== 'held') return
    this.#clock.send(Math.max(place - this.#clock.sent, 0), performance.now())
    this.#clock.cut(place)
    this.#clock.set(place, performance.now())
  }

  /** Ends the audio where it is: the rest is never sent. Outputs that waited for it are sent now. */
  end(): void {
    this.#stop('ended')
    this.#clock.cut(this.#position)
    this.#chunks = []
    this.#next = 0
    this.#written = this.#clock.sent
    for (const { make } of this.#queued.splice(0)) void this.#link.send(make())
    this.#onPlayed = undefined
  }

  #stop(state: 'held' | 'away' | 'ended'): void {
    this.#state = state
    clearTimeout(this.#timer)
    this.#clock.stop(performance.now())
  }

  #start(): void {
    this.#state = 'open'
    if (this.hasBegun) this.#clock.start(performance.now())
    this.#pump()
    this.#watch()
  }

  // The chunk in which playback was stopped is sent from there.
  #rewind(place: number): void {
    const index = this.#chunks.findIndex(({ start, bytes }) => start + bytes.length / this.#width > place)
    const cut = this.#chunks[index]
    this.#next = index === -1 ? this.#chunks.length : index
    if (cut === undefined || cut.start >= place) return
    const bytes = cut.bytes.subarray((place - cut.start) * this.#width)
    this.#chunks[index] = { start: place, bytes }
  }

  // Sends what may be sent now.
  #pump(): void {
    while (this.#state === 'open' && !this.#isWaiting) {
      this.#flush()
      const chunk = this.#chunks[this.#next]
      if (chunk === undefined) return
      this.#sendChunk(chunk)
    }
  }

  #sendChunk({ start, bytes }: Chunk): void {
    const now = performance.now()
    this.#next++
    this.#drop()
    this.#clock.send(bytes.length / this.#width, now)
    this.#clock.start(now)
    this.#furthest = Math.max(this.#furthest, this.#clock.sent)
    const { itemId, responseId, heardMs: startMs } = this.#items.cutAt(start)
    const sending = this.#link.send({ type: 'audio', responseId, itemId, audio: bytes, startMs })
    if (!isPromise(sending)) return
    this.#isWaiting = true
    void sending.finally(() => {
      this.#isWaiting = false
      this.#pump()
    })
  }

  // What was played is never sent again.
  #drop(): void {
    const position = this.#position
    let played = 0
    while (played < this.#next - 1 && this.#chunks[played + 1]!.start <= position) played++
    // In blocks, since each takes time by the length of what is left.
    if (played < 64) return
    this.#chunks = this.#chunks.slice(played)
    this.#next -= played
  }

  // Sends the outputs whose audio was sent.
  #flush(): void {
    while (this.#queued.length > 0 && this.#queued[0]!.at <= this.#clock.sent)
      void this.#link.send(this.#queued.shift()!.make())
  }

  #watch(): void {
    clearTimeout(this.#timer)
    if (this.#onPlayed === undefined || this.#state === 'held' || this.#state === 'away') return
    const left = this.#clock.timeTo(this.#written, performance.now())
    if (left <= 0) {
      const listener = this.#onPlayed
      this.#onPlayed = undefined
      listener()
    } else this.#timer = setTimeout(() => this.#watch(), Math.max(left, 1))
  }
}
