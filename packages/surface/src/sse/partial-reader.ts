import {
  isPromise,
  nextTurn,
  PartialObjects,
  type Awaitable,
  type LogEntry,
  type PartOf,
  type PartType,
  type StoredSession
} from '@svc/contract'
import type { RunEngine } from '@svc/registry'
import { LogReader, typeOfEntry, type EntryReader, type LogHost, type RunNotice } from '@svc/registry/engine'
import { Type } from '@sinclair/typebox'

/** What the query of an event stream has for partial objects. */
export const partialQuery = {
  partial: Type.Optional(
    Type.Union([Type.Literal('true'), Type.Literal('false')], {
      description:
        'Whether the object that the agent is writing is sent while it grows, not validated, at most every 50 ms; default `false`'
    })
  )
}

/** Whether a request is for partial objects. */
export function wantsPartial({ query }: { query: unknown }): boolean {
  return (query as { partial?: unknown } | undefined)?.partial === 'true'
}

/** The object that an agent is writing, as a transient part. */
export class PartialNotice implements RunNotice {
  readonly part: PartOf<'data'> & { at: number }

  constructor(value: object) {
    this.part = { type: 'data', name: 'structured', value, transient: true, at: Date.now() }
  }

  get json(): string {
    return JSON.stringify(this.part)
  }
}

const READ = new Set<string>(['text', 'start', 'step.start', 'structured'] satisfies PartType[])

/** Reads a log with the objects that its agent is writing among the transient parts, each a `PartialNotice`. */
export class PartialReader implements EntryReader {
  readonly #reader: EntryReader
  readonly #objects = new PartialObjects()
  // What was read by another reader: it only prepares what follows.
  readonly #seen: { readonly ordinal?: number | undefined; readonly seq: number }
  #timer: NodeJS.Timeout | undefined
  #hasEntries = false

  /** @param reader at the beginning of the run that `seen` is in */
  constructor(
    reader: EntryReader,
    seen: { readonly ordinal?: number | undefined; readonly seq: number } = { seq: 0 }
  ) {
    this.#reader = reader
    this.#seen = seen
  }

  /** Reads a run after a part. */
  static ofRun(runs: LogHost, runId: string, after = 0): PartialReader {
    return new PartialReader(new LogReader(runs, runId), { seq: after })
  }

  /** Reads a session after a place in it. @throws the errors of `sessions.open` */
  static async ofSession(
    { sessions }: Pick<RunEngine, 'sessions'>,
    session: StoredSession,
    place?: string,
    signal?: AbortSignal
  ): Promise<PartialReader> {
    const reader = await sessions.open(session, place, signal)
    const { ordinal, after: seq } = reader
    if (seq === 0) return new PartialReader(reader)
    reader.close()
    return new PartialReader(await sessions.open(session, `${ordinal}.0`, signal), { ordinal, seq })
  }

  get runId(): string {
    return this.#reader.runId
  }

  get ordinal(): number | undefined {
    return this.#reader.ordinal
  }

  get after(): number {
    const { after } = this.#reader
    return this.#isSeen(after) ? this.#seen.seq : after
  }

  get endsRun(): boolean {
    return this.#hasEntries && this.#reader.endsRun
  }

  get ended(): boolean {
    return this.#reader.ended
  }

  get suspended(): boolean {
    return this.#reader.suspended
  }

  get fault(): Error | undefined {
    return this.#reader.fault
  }

  read(): Awaitable<readonly LogEntry[]> {
    const entries = this.#reader.read()
    return isPromise(entries) ? entries.then((all) => this.#take(all)) : this.#take(entries)
  }

  #take(entries: readonly LogEntry[]): Awaitable<readonly LogEntry[]> {
    for (const entry of entries) if (READ.has(typeOfEntry(entry) ?? '')) this.#objects.add(entry.part)
    const last = entries.at(-1)
    const news = last !== undefined && this.#isSeen(entries[0]!.seq) ? this.#unseen(entries) : entries
    this.#hasEntries = news.length > 0
    // An empty list would say that there is nothing more.
    if (last === undefined || this.#hasEntries || this.ended) return news
    return nextTurn().then(() => this.read())
  }

  #unseen(entries: readonly LogEntry[]): readonly LogEntry[] {
    return entries.filter(({ seq }) => !this.#isSeen(seq))
  }

  #isSeen(seq: number): boolean {
    return seq <= this.#seen.seq && this.ordinal === this.#seen.ordinal
  }

  followTransients(): void {
    this.#reader.followTransients()
  }

  takeTransients(): readonly RunNotice[] {
    const notices = this.#reader.takeTransients()
    const value = this.#objects.take()
    return value === undefined ? notices : [...notices, new PartialNotice(value)]
  }

  onNews(callback: () => void): void {
    const wait = this.#objects.dueIn()
    if (wait === undefined) return this.#reader.onNews(callback)
    let isCalled = false
    const callOnce = () => {
      if (isCalled) return
      isCalled = true
      clearTimeout(this.#timer)
      callback()
    }
    this.#timer = setTimeout(callOnce, wait).unref()
    this.#reader.onNews(callOnce)
  }

  lookAgain(): void {
    this.#reader.lookAgain()
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#reader.close()
  }
}
