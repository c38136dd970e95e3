import { isTerminalPart } from '../contract/part.ts'
import { RunResultBuilder, type RunResult } from '../contract/run-result.ts'
import { createPause } from '../next-turn.ts'
import { isPromise } from '../contract/ports/awaitable.ts'
import type { RunSummary } from '../contract/ports/run-store.ts'
import type { Stores } from '../contract/ports/stores.ts'

/** Bytes of a run up to which its result is parsed as a whole. */
const MAX_WHOLE = 2_097_152
const PAGE = { entries: 512, bytes: 65_536 }

/**
 * A run's result; null where there is none. A large one is made from the log again, page by page: no turn of the event loop has
 * to parse all of it.
 */
export async function loadResult(
  { runs, log }: Pick<Stores, 'runs' | 'log'>,
  { runId, status, bytes }: Pick<RunSummary, 'runId' | 'status' | 'bytes'>
): Promise<RunResult | null> {
  if (status !== 'completed' && status !== 'canceled') return null
  if (bytes <= MAX_WHOLE) return (await runs.get(runId))?.result ?? null
  let reading = log.read(runId, 0, PAGE)
  // What a store gives at once it does not have to parse.
  if (!isPromise(reading)) return (await runs.get(runId))?.result ?? null
  const pause = createPause()
  const result = new RunResultBuilder()
  for (;;) {
    const entries = await reading
    for (const { part } of entries) result.add(part)
    const last = entries.at(-1)
    // It was removed meanwhile.
    if (last === undefined) return null
    if (isTerminalPart(last.part) && !last.part.source?.length) return result.build()
    await pause()
    reading = log.read(runId, last.seq, PAGE)
  }
}
