import {
  isPromise,
  isTerminalStatus,
  type Awaitable,
  type LogEntry,
  type NodeLease,
  type ReadLimit,
  type RunChange,
  type StepRecord,
  type StreamLog
} from '@svc/contract'
import { RUN_ERR_FENCED } from '@svc/contract/errors'
import { reportedChange } from '@svc/registry/engine'
import { encodeLarge, RESULT, toShortJson } from '../encoding/values.ts'
import { toInputRow, toLongArgs, toShortArgs, type RowArgs } from '../rows/input-rows.ts'
import { MAX_IN_ROW, PART_BYTES } from '../rows/run-rows.ts'
import type { LocalLogs } from './local-logs.ts'
import type { ChangedRows, RunWriter } from './run-write.ts'

type Values = { name: string; seq: number; json: string }[]

/** The rows of a change, and the bytes that they add to the size of the run. */
export interface SizedChange {
  readonly rows: ChangedRows
  readonly bytes: number
}

/** Large values take several turns of the event loop; without any the rows are returned at once. */
function toChangedRows(runId: string, change: RunChange): Awaitable<SizedChange> {
  const { result, input } = change
  const json = result && toShortJson(result, MAX_IN_ROW)
  const args = input && toShortArgs(input)
  const isLong = (result !== undefined && json === undefined) || (input !== undefined && args === undefined)
  if (isLong) return toLargeRows(runId, change, json, args)
  return {
    rows: toRows(runId, change, json, input && args && toInputRow(runId, input, args), []),
    bytes: Buffer.byteLength(json ?? '')
  }
}

async function toLargeRows(
  runId: string,
  change: RunChange,
  json: string | undefined,
  args: RowArgs | undefined
): Promise<SizedChange> {
  const { result, input } = change
  const values: Values = []
  let bytes = Buffer.byteLength(json ?? '')
  if (result !== undefined && json === undefined) ({ bytes } = await addLarge(values, RESULT, result))
  const kept = input && (args ?? toLongArgs(await addLarge(values, input.inputId, input.args)))
  return { rows: toRows(runId, change, json, input && kept && toInputRow(runId, input, kept), values), bytes }
}

function toRows(
  runId: string,
  change: RunChange,
  result: string | undefined,
  input: ChangedRows['input'],
  values: Values
): ChangedRows {
  const { status, at, preview, stats, error } = change
  const reported = reportedChange(runId, change)
  return {
    status,
    at,
    endedAt: isTerminalStatus(status) ? at : null,
    result: result ?? null,
    preview: preview ?? null,
    stats: stats ? JSON.stringify(stats) : null,
    error: error ? JSON.stringify(error) : null,
    input,
    report: reported && {
      event: reported.event,
      detail: reported.detail === null ? null : JSON.stringify(reported.detail),
      key: reported.key
    },
    values
  }
}

async function addLarge(
  values: Values,
  name: string,
  value: unknown
): Promise<{ bytes: number; first: string }> {
  const { pieces, ...size } = await encodeLarge(value)
  for (const [seq, json] of pieces.entries()) values.push({ name, seq, json })
  return size
}

/** Reads what this process does not have of a log. */
export interface LogReads {
  /** The entries of a log after a `seq`. */
  read(runId: string, after: number, limit: ReadLimit): Promise<readonly LogEntry[]>
}

/** Connects the readers of logs with the processes that write them. */
export interface LogWakeUps {
  /** Wakes readers in other processes. */
  notify(runId: string): void
  /** True if other processes follow this log. */
  isFollowed(runId: string): boolean
  /** A reader follows a log that this process does not write: wakes it if the log is over or missing, and when it grows. */
  announce(runId: string): void
}

/** What the logs of runs are made of. */
export interface StreamLogHost {
  readonly writer: RunWriter
  readonly logs: LocalLogs
  readonly reads: LogReads
  readonly wakeUps: LogWakeUps
  /** Of this process, if others may take over its runs. */
  readonly lease?: Pick<NodeLease, 'held'>
}

/** The logs of runs: one process writes a log, and reads its end from memory. */
export function createStreamLog({ writer, logs, reads, wakeUps, lease }: StreamLogHost): StreamLog {
  const append = async (
    runId: string,
    epoch: number,
    entries: readonly LogEntry[],
    change?: RunChange,
    steps: readonly StepRecord[] = []
  ) => {
    const rows = steps.map(({ key, output }) => ({ key, output: JSON.stringify(output) ?? null }))
    const changing = change && toChangedRows(runId, change)
    const changed = isPromise(changing) ? await changing : changing
    const parts = entries.map(({ seq, json }) => ({ seq, json }))
    const own = bytesOf(parts) + bytesOfSteps(rows) + (changed?.bytes ?? 0)
    const local = logs.get(runId)
    const isEnd = change !== undefined && isTerminalStatus(change.status)
    if (local !== undefined && isEnd) local.isEnding = true
    const bytes = own + (local?.uncounted ?? 0)
    // Each append would otherwise make another version of the run's row.
    if (local !== undefined) local.uncounted = change === undefined ? bytes : 0
    const size = change === undefined ? own : bytes
    const write = {
      kind: 'append',
      runId,
      epoch,
      parts,
      steps: rows,
      change: changed?.rows,
      bytes: size
    } as const
    if (!(await writer.write(write))) {
      logs.disown(runId)
      throw new RUN_ERR_FENCED(runId)
    }
    if (entries.length === 0 && change === undefined) return
    logs.appended(runId, entries, isEnd)
    wakeUps.notify(runId)
  }

  return {
    abandon: (runId) => logs.abandon(runId),
    append,
    read(runId, after, limit) {
      const known = logs.read(runId, after, limit)
      // A process that stood still may not know yet that another one writes on.
      if (known !== undefined && (known.length > 0 || lease?.held !== false)) return known
      return reads.read(runId, after, limit).then((entries) => {
        logs.keep(runId, entries)
        return entries
      })
    },
    readCommitted: (runId, after, limit) => reads.read(runId, after, limit),
    onFollowed: (runId, act) => !wakeUps.isFollowed(runId) && logs.onFollowed(runId, act),
    follow(runId, follower) {
      const unfollow = logs.follow(runId, follower)
      if (logs.get(runId)?.isOwn !== true) wakeUps.announce(runId)
      return unfollow
    }
  }
}

function bytesOf(parts: readonly { readonly json: string }[]): number {
  return parts.reduce((sum, { json }) => sum + Buffer.byteLength(json) + PART_BYTES, 0)
}

function bytesOfSteps(rows: readonly { readonly output: string | null }[]): number {
  return rows.reduce((sum, { output }) => sum + Buffer.byteLength(output ?? ''), 0)
}
