import type {
  Awaitable,
  CheckpointStore,
  ControlBus,
  CounterStore,
  NodeLease,
  RunQueue,
  RunStore,
  ScheduleStore,
  SessionStore,
  StreamLog
} from '@svc/contract'
import type { Kysely } from 'kysely'
import type { Commit } from './commit.ts'
import type { FileBytes } from './files/file-bytes.ts'
import type { Reports, RunWriter, SessionEntry } from './runs/run-write.ts'
import type { NewestMessages } from './stores/session-messages.ts'
import type { RunSources, Tables } from './tables.ts'

/** The ports that differ for a process that is one node of several on its database. */
export interface NodeParts {
  readonly lease: NodeLease
  readonly counters: CounterStore
  readonly sessions: Pick<SessionStore, 'lock' | 'place' | 'placesNewRuns' | 'ordersWrites' | 'places'>
  /** Reads what many runs begin with in one query. */
  readonly newestMessages: NewestMessages
  /** Removes the places of runs that no process has in memory; call it before the runs are removed. */
  forgetPlaces(runIds: readonly string[]): Promise<void>
}

/** The partitions of the logs of runs, each with the runs that began on one day. */
export interface RunDays {
  /**
   * Adds partitions ahead of time, and finds those whose runs all ended before a time.
   * @param now milliseconds since the epoch
   */
  open(now: number, before: number): Promise<ExpiredDays>
}

/** Days whose runs have all expired. */
export interface ExpiredDays {
  /** True for a run whose log goes with its day. */
  has(runId: string): boolean
  /** Removes the logs of these days; call it once their runs are removed. */
  drop(): Promise<void>
}

/** Finished runs. */
export interface EndedRuns {
  readonly runs: number
  readonly bytes: number
  /** Bytes of their files. */
  readonly fileBytes: number
}

/** Takes runs from the queue, and notices when some may begin. */
export interface Dispatch extends Pick<RunQueue, 'next' | 'serve' | 'look' | 'ended'> {
  /** This process has put a run into the queue. */
  left(runId: string): void
  /** This process has leased a run that waited, to cancel it. */
  taken(runId: string): void
  /** This process has changed when schedules are due. */
  planned(): void
  /** As `ScheduleStore.onPlanned`. */
  readonly onPlanned?: NonNullable<ScheduleStore['onPlanned']>
}

/** A row of an item whose code was written or removed. */
interface CodedRow {
  readonly space_id: number
  readonly item_id: number
}

/** What a committed write has done to the codes of items. */
export interface CodeChange {
  readonly removed: readonly CodedRow[]
  readonly added?: readonly (CodedRow & { readonly model: string; readonly code: Uint8Array })[]
}

/** Finds items by the codes of their embeddings. */
export interface ItemCodes {
  /** A code as the column of the database takes it. */
  toColumn(code: Uint8Array): Uint8Array | string
  /** The items of a space, with embeddings of a model, whose codes are nearest to this one; nearest first. */
  nearest(spaceId: number, model: string, code: Uint8Array, count: number): Promise<readonly number[]>
  /** Call it after each write that was committed, in their order. */
  changed(change: CodeChange): void
}

/** The process in whose name work is claimed. */
export interface Claimant {
  /** Its id; another one after it was declared dead. @throws why it is no node of the database now, after 5 seconds */
  id(): Awaitable<string>
  /** True if the table `node` has the ids of all living processes; false if this is the only one. */
  readonly isShared: boolean
}

/** What a kind of database brings to the stores, beside the SQL that all kinds share. */
export interface Backend {
  /** Reads; writes go through `commit`. */
  readonly db: Kysely<Tables>
  readonly sources: RunSources
  readonly commit: Commit
  /** The bytes of the files of runs. */
  readonly bytes: FileBytes
  readonly log: StreamLog
  /** What runs write, and how they are leased. */
  readonly runs: Pick<RunStore, 'create' | 'lease' | 'recordStep'> & Partial<Pick<RunStore, 'listLeft'>>
  readonly checkpoints: Pick<CheckpointStore, 'save' | 'remove'>
  readonly sessionEntry: SessionEntry
  /** Writes the turns of sessions, in order with what else their runs write. */
  readonly writer: RunWriter
  readonly reports: Reports
  readonly control: ControlBus
  readonly dispatch: Dispatch
  /** Undefined if only one process can have the database open. */
  readonly node: NodeParts | undefined
  /** Undefined if logs are not partitioned. */
  readonly days: RunDays | undefined
  readonly claimant: Claimant
  readonly codes: ItemCodes
  /** Counts the finished runs; called by the sweep that removes them. @param now milliseconds since the epoch */
  countEnded(now: number): Promise<EndedRuns>
  /**
   * Runs a sweep, then returns space to the system; 0 if another process sweeps the same now, or has taken it over.
   * @param remove removes by what it is given, which refuses to write once another process sweeps the same
   * @throws the error of `remove`
   */
  sweep(name: string, remove: (commit: Commit) => Promise<number>): Promise<number>
  /** Probes the database with a small write and read. @throws the database's error */
  check(): Promise<void>
  /** Commits what is pending and closes the database. */
  close(): Promise<void>
}
