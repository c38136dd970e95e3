import { errorFromPart, isTerminalPart, type YieldedPart } from '@svc/contract'
import { takeRecord } from './journal/part-record.ts'
import { isReplayed } from './journal/replayed-part.ts'
import { requirePart, wholePart } from './log/encode-part.ts'
import type { PartWriter } from './log/part-writer.ts'
import type { Ending } from './final-state.ts'

/** The parts of a run that accepting its parts needs. */
export interface AcceptingRun {
  readonly writer: PartWriter
  readonly ended: boolean
  /** True if another process can resume it. */
  readonly resumable: boolean
  /** True if an earlier process began it. */
  readonly resumed: boolean
  /** @throws the reason of the end if the run has ended */
  requireOpen(): void
  end(how: Ending): boolean
  /** A part was written. */
  accepted(part: YieldedPart): void
}

/**
 * Writes what a runnable yields to the log of its run; undefined if the runnable may yield more at once.
 * @throws why the run has ended
 */
export function acceptPart(run: AcceptingRun, part: YieldedPart): Promise<void> | undefined {
  run.requireOpen()
  if (run.resumed && isReplayed(part)) return undefined
  try {
    write(run, part)
  } catch (err) {
    // Before the runnable sees the error, which it could take for one of its own.
    run.end({ error: err })
    throw err
  }
  if (run.ended) return undefined
  run.accepted(part)
  return run.writer.congested ? run.writer.idle() : undefined
}

function write(run: AcceptingRun, part: YieldedPart): void {
  requirePart(part)
  if (part.type === 'start') return
  const record = run.resumable ? takeRecord(part) : undefined
  if (!isTerminalPart(part)) run.writer.write(wholePart(part), undefined, record)
  else if (part.type === 'finish') run.end(part)
  else if (part.type === 'error') run.end({ error: errorFromPart(part.error) })
}
