import type { InputSummary, LogEntry, Part, ReadLimit, RunStats, StoredRun } from '@svc/contract'
import { entryFromJson, sizeOfEntry, TextEntry, type Slot } from '@svc/contract/stores'
import { encodePart, PlainEntry } from '../../engine/log/encode-part.ts'
import { KeptText, type TextBlocks } from './kept-text.ts'

/** Bytes of a string and its places, without the characters. */
const TEXT_OVERHEAD = 40
/** Bytes of an entry and its places, without its fields. */
const ENTRY_OVERHEAD = 64

/** The log of one run in memory. Of plain text, which is most of a log that was read, it keeps no entries: only strings and times. */
class CompactLog {
  // The entry numbered `seq` is at `2 * seq - 2`. After it stands its time, unless it is in its JSON, in milliseconds since the first
  // one: small integers take no memory of their own.
  #places: (LogEntry | string | number)[] = []
  #startedAt = 0
  #size = 0
  #held = 0

  /** Characters of its JSON, about. */
  get size(): number {
    return this.#size
  }

  /** Bytes that it takes in memory if a character takes one, about. */
  get held(): number {
    return this.#held
  }

  push(entry: LogEntry): void {
    const size = sizeOfEntry(entry)
    this.#size += size
    if (entry instanceof TextEntry) {
      const { at, text } = entry
      this.#startedAt ||= at
      this.#places.push(text, at - this.#startedAt)
      this.#held += text.length + TEXT_OVERHEAD
    } else {
      const at = timeOfPlain(entry)
      this.#startedAt ||= at
      this.#places.push(entry, at - this.#startedAt)
      // An entry with JSON keeps what is parsed of it, too; any other has an object about as large as its JSON.
      this.#held += ENTRY_OVERHEAD + (entry.size === undefined ? 3 * size : size)
    }
  }

  /** As `StreamLog.read`. */
  read(after: number, limit: ReadLimit): LogEntry[] {
    const end = Math.min(this.#places.length / 2, after + limit.entries)
    const entries: LogEntry[] = []
    let bytes = 0
    for (let seq = after + 1; seq <= end; seq++) {
      const entry = this.#at(seq)
      bytes += sizeOfEntry(entry)
      if (bytes > limit.bytes && entries.length > 0) break
      entries.push(entry)
    }
    return entries
  }

  /** Nothing more is pushed: gives back the memory reserved for it. */
  seal(): void {
    this.#places = this.#places.slice()
  }

  /** The log as `restore` takes it, for JSON. */
  pack(): PackedLog {
    const hasJsons = this.#places.some((place) => typeof place === 'object' && !(place instanceof PlainEntry))
    const places = hasJsons ? this.#places.map(withJson) : this.#places
    return { startedAt: this.#startedAt, places: places as PackedLog['places'], size: this.#size }
  }

  /** Restores a packed log; nothing more is pushed. */
  restore({ startedAt, places, size }: PackedLog): void {
    for (let index = 0; index < places.length; index += 2) {
      const [place, time] = [places[index]!, places[index + 1] as number]
      const seq = index / 2 + 1
      if (typeof place !== 'object') this.#places.push(place, time)
      else if ('type' in place) this.#places.push(encodePart(seq, startedAt + time, place), time)
      else this.#places.push(entryFromJson(seq, place[0]), 0)
    }
    this.#startedAt = startedAt
    this.#size = size
  }

  #at(seq: number): LogEntry {
    const kept = this.#places[2 * seq - 2] as LogEntry | string
    if (typeof kept !== 'string') return kept
    return new TextEntry(seq, this.#startedAt + (this.#places[2 * seq - 1] as number), kept)
  }
}

/** A packed log: a text, a part or the JSON of an entry, and after each its time. */
interface PackedLog {
  readonly startedAt: number
  readonly places: readonly (string | number | Part | readonly [json: string])[]
  readonly size: number
}

function withJson(place: LogEntry | string | number): unknown {
  return typeof place !== 'object' || place instanceof PlainEntry ? place : [place.json]
}

function timeOfPlain(entry: LogEntry): number {
  return entry instanceof PlainEntry ? entry.at : 0
}

/** Bytes of a finished run without its log and text: its record, its result, and their places in maps. */
const RUN_OVERHEAD = 1_100
// Characters beyond Latin-1 take two bytes.
const WIDE = /[\u0100-\uffff]/

/** A run in process memory: its record, its log, and its followers. */
export class RunEntry {
  record: StoredRun
  readonly log = new CompactLog()
  /** The beginning of its result; null while there is none. */
  preview: string | null = null
  /** What it took; null until it ends. */
  stats: RunStats | null = null
  steps: Map<string, unknown> | undefined = undefined
  /** Summaries of its inputs, by their ids. */
  summaries: Map<string, InputSummary> | undefined = undefined
  followers: Set<(gone?: boolean) => void> | undefined = undefined
  /** Called once, when a reader begins to follow it, or reads it. */
  onFollowed: (() => void) | undefined = undefined
  /** The waiting runs of its owner while it waits in the queue, in order. */
  queue: Map<string, RunEntry> | undefined = undefined
  /** The ids of messages that were to join it. */
  steers: string[] | undefined = undefined
  /** Its slot while it is unfinished. */
  slot: Slot<RunEntry> | undefined = undefined
  /** The slot of its start key, if it has one. */
  claim: Slot<KeptRun> | undefined = undefined
  /** Its packed form, if it was read from that. */
  packed: PackedRun | undefined
  /** Bytes that it takes in memory once it has ended, about. */
  weight = 0

  constructor(record: StoredRun, packed?: PackedRun) {
    this.record = record
    this.packed = packed
  }

  get head(): RunHead {
    return this.record
  }

  open(): this {
    return this
  }

  /** Nothing more is written: forgets what only unfinished runs need. */
  seal(): void {
    this.log.seal()
    this.slot = this.steps = this.onFollowed = undefined
    const { log, preview, record } = this
    const width = WIDE.test(preview ?? '') ? 2 : 1
    this.weight = (log.held + (record.result?.text.length ?? 0)) * width + RUN_OVERHEAD
  }

  /** Records a step once. */
  recordStep(key: string, output: unknown): void {
    this.steps ??= new Map()
    if (!this.steps.has(key)) this.steps.set(key, structuredClone(output))
  }

  /** Notifies the followers of the log that it has grown, or is gone. */
  wake(gone = false): void {
    if (this.followers === undefined) return
    for (const follower of Array.from(this.followers)) follower(gone)
  }

  leaveQueue(): void {
    this.queue?.delete(this.record.runId)
    this.queue = undefined
  }
}

/** What lists ask of a run. */
export type RunHead = Readonly<
  Pick<
    StoredRun,
    | 'runId'
    | 'registry'
    | 'kind'
    | 'name'
    | 'sessionId'
    | 'owner'
    | 'metadata'
    | 'createdAt'
    | 'updatedAt'
    | 'status'
    | 'error'
    | 'inputs'
  >
> & { readonly userId?: string | undefined }

/** A run as the table keeps it: packed once it has ended and nobody follows it, unless it is large. */
export type KeptRun = RunEntry | PackedRun

type Rest = Omit<StoredRun, keyof RunHead>
/** All fields, so that none that is added to records is forgotten. */
type PackedFields = { readonly [Name in keyof Required<Rest>]: Rest[Name] } & {
  readonly inputs: StoredRun['inputs']
  /** Absent if it is the whole text of the result. */
  readonly preview: string | null | undefined
  readonly stats: RunStats | null
  readonly log: PackedLog
}

/** Characters of the JSON of a log, about, up to which its run is packed. */
const MAX_PACKED = 4_096
/** Bytes of a packed run without its text: its head, and its places in maps. */
const PACKED_OVERHEAD = 420
const NO_INPUTS: StoredRun['inputs'] = []

/** A finished run in few objects: its head, and as text whatever else is known of it. */
export class PackedRun extends KeptText implements RunHead {
  readonly runId: string
  readonly registry: string
  readonly kind: StoredRun['kind']
  readonly name: string
  readonly sessionId: string
  readonly owner: string
  readonly userId: string | undefined
  readonly metadata: StoredRun['metadata']
  readonly createdAt: number
  readonly updatedAt: number
  readonly status: StoredRun['status']
  readonly error: StoredRun['error']
  /** As in `RunEntry`. */
  readonly claim: RunEntry['claim']
  /** As in `RunEntry`. */
  readonly weight: number

  constructor({ record, claim }: RunEntry, text: string, blocks: TextBlocks) {
    super(text, blocks)
    this.runId = record.runId
    this.registry = record.registry
    this.kind = record.kind
    this.name = record.name
    this.sessionId = record.sessionId
    this.owner = record.owner
    this.userId = record.userId
    this.metadata = record.metadata
    this.createdAt = record.createdAt
    this.updatedAt = record.updatedAt
    this.status = record.status
    this.error = record.error
    this.claim = claim
    this.weight = this.length + PACKED_OVERHEAD
  }

  get head(): RunHead {
    return this
  }

  /** None that is pending. */
  get inputs(): StoredRun['inputs'] {
    return NO_INPUTS
  }

  open(): RunEntry {
    const { preview, stats, log, ...rest } = JSON.parse(this.read()) as PackedFields
    const { runId, registry, kind, name, sessionId, owner, userId, metadata } = this
    const { createdAt, updatedAt, status, error } = this
    const head = {
      runId,
      registry,
      kind,
      name,
      sessionId,
      owner,
      metadata,
      createdAt,
      updatedAt,
      status,
      error
    }
    const record: StoredRun = { ...head, ...rest }
    const run = new RunEntry(userId === undefined ? record : { ...record, userId }, this)
    run.preview = preview === undefined ? rest.result!.text : preview
    run.stats = stats
    run.claim = this.claim
    run.weight = this.weight
    run.log.restore(log)
    return run
  }
}

/** A sealed run in its packed form; as it is while it has followers or messages that were to join it, or if it is long. */
export function pack(run: RunEntry, blocks: TextBlocks): KeptRun {
  const { record, log, preview, stats } = run
  if (run.followers !== undefined || run.steers !== undefined || log.size > MAX_PACKED) return run
  if (run.packed !== undefined) return run.packed
  const { startKey, queuedAt, epoch, format, result, cancelRequested, leftTurn, inputs } = record
  const fields: PackedFields = {
    startKey,
    queuedAt,
    epoch,
    format,
    result,
    cancelRequested,
    leftTurn,
    inputs,
    preview: preview === result?.text ? undefined : preview,
    stats,
    log: log.pack()
  }
  return new PackedRun(run, JSON.stringify(fields), blocks)
}
