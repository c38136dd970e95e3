import type {
  Awaitable,
  EventBus,
  LeftTurn,
  MiddlewareAround,
  RunInput,
  RunLog,
  Runnable,
  RunResult,
  StoredRun,
  Stores
} from '@svc/contract'
import type { StartOptions } from './start-options.ts'
import type { AnswerSeal } from './inputs/answer-seal.ts'
import type { RecordOptions } from '../options.ts'
import type { HeldTexts } from './log/held-text.ts'
import type { SessionNotices, TransientParts } from './log/log-reader.ts'
import type { RecalledLog } from '../recovery/recalled-log.ts'
import type { RunProgress } from './log/part-writer.ts'

/** The parts of a run that take memory while it waits. */
interface HoldingRun {
  readonly input: RunInput
  readonly options: Pick<StartOptions, 'messages' | 'instructions' | 'tools' | 'envelope'>
  /** `bytes`: of its log, about as many as its prompt and its state have. */
  readonly writer: { readonly bytes: number }
}

// What any run takes besides its data.
const OWN = 16_384

/** The bytes, about, that a run takes in memory. */
export function heldBytesOf({ input, options, writer }: HoldingRun): number {
  const { messages, instructions, tools, envelope } = options
  return OWN + writer.bytes + sizeOf([input, messages, instructions, tools, envelope], new Set())
}

function sizeOf(value: unknown, seen: Set<object>): number {
  if (typeof value === 'string') return Buffer.byteLength(value)
  if (typeof value !== 'object' || value === null || seen.has(value)) return 0
  seen.add(value)
  if (ArrayBuffer.isView(value)) return value.byteLength
  // An upload.
  if ('stream' in value && 'size' in value && typeof value.size === 'number') return value.size
  let size = 0
  for (const each of Object.values(value)) size += sizeOf(each, seen)
  return size
}

/** A run as the engine that executes it sees it. */
export interface HostedRun {
  readonly log: RunLog
  readonly runId: string
  readonly runnable: Runnable
  readonly options: StartOptions
  readonly record: StoredRun
  /** True if another process can resume it. */
  readonly resumable: boolean
  /** True if an earlier process began it. */
  readonly resumed: boolean
  /** True if it was left for another process, or for later. */
  readonly suspended: boolean
  /** How often its store failed since it last made progress. */
  readonly losses: number
  /** True if it may be resumed here after a store failure; bounded, in case the store cannot take the run itself. */
  readonly mayResume: boolean
  /** Resolves when its runnable has returned. */
  readonly executed: Promise<void> | undefined
  /** The bytes that it holds while it waits. */
  readonly heldBytes: number
  /** Resolves when its writes have succeeded or failed; undefined if none is in progress. */
  idle(): Promise<void> | undefined
  /** Leaves it as it is, for another process to resume. */
  suspend(): Promise<void>
  /** Leaves it as it is, until what it waits for has it loaded again. */
  unload(): Promise<void>
}

/** What stays in memory of a run that was unloaded. */
export interface Unloaded {
  readonly heldBytes: number
  /** Its runnable, unless runs of its name are resumed anyway. */
  readonly runnable: Runnable | undefined
  /** As in `StartOptions`. */
  readonly onInputRequest?: (() => void) | undefined
}

/** What a dormant run waits for. */
export interface DormantWait {
  /** When the first wait ends, in milliseconds since the epoch. */
  readonly until: number
  /** The inputs whose answers end a wait. */
  readonly inputIds: readonly string[]
}

/** A run as the limits count it. */
export interface CountedRun extends HoldingRun {
  readonly runId: string
  readonly record: Pick<StoredRun, 'owner' | 'status'>
  readonly resumable: boolean
  heldBytes: number
}

/** The ids of registries. */
export interface RegistryIds {
  /** The id of the registry that has a runnable. */
  registryOf(runnable: Runnable): string
}

/** The parts of the engine that a run needs. */
export interface RunHost {
  readonly stores: Stores
  readonly events: EventBus
  readonly log: RunLog
  readonly surfaces: RegistryIds
  readonly maxLogBytes: number
  readonly record: Readonly<Required<RecordOptions>>
  readonly closed: AbortSignal
  readonly transients: TransientParts
  readonly sessionNotices: SessionNotices
  readonly seal: AnswerSeal
  readonly texts: HeldTexts
  readonly around: MiddlewareAround | undefined
  ended(run: HostedRun): void
  /** The result of a run that another node has. @throws its error, RUN_ERR_SUSPENDED */
  resultElsewhere(runId: string): Promise<RunResult>
  /** The run has recorded a step or an answer. */
  progressed(run: HostedRun): void
  /** The run, which only waited since it was resumed, begins to work. */
  begins(run: Pick<StoredRun, 'runId' | 'epoch'>): Awaitable<void>
  /** The run is suspended in order. */
  left(run: HostedRun): Promise<void>
  /** The run's log can no longer be written. */
  lost(run: HostedRun, reason: unknown): void
  expireInput(inputId: string): void
  /** True if what the run was started with is known again once it is loaded. */
  mayUnload(options: StartOptions): boolean
  /** The run only waits; it may leave memory. */
  dormant(run: HostedRun, wait: DormantWait): void
  /** Ends a run as canceled that was unloaded; false if it has ended. */
  cancelUnloaded(runId: string, left?: LeftTurn | null): Promise<boolean>
  /** Checks that a run may wait. @throws RUN_ERR_WAITING_LIMIT */
  requireWait(run: CountedRun): void
  /** The run begins to wait for an input or for its turn. */
  waits(run: CountedRun): void
  /** The run waits no more. */
  works(run: CountedRun): void
}

/** The number of store failures in a row, without progress, after which a run is no longer resumed. */
export const MAX_LOSSES = 5

/** The state that a resumed run inherits from the earlier process. */
export interface Earlier {
  readonly record: StoredRun
  readonly progress: RunProgress
  readonly log: RecalledLog
  /** How often its store failed since it last made progress; default 0. */
  readonly losses?: number | undefined
  /** True if this process has unloaded it, and not another one left it. */
  readonly isUnloaded?: boolean
  /** True if it waits for an input or for its turn, and has no part in a death until it begins to work. */
  readonly onlyWaits?: boolean
}
