import { isTerminalPart } from '../../contract/part.ts'
import type { Stores } from '../../contract/ports/stores.ts'

/** Whether a run's part with this `seq` is its last; undefined when there is no such part. 0, before the first, is never the last. */
export async function isEnd(
  { log }: Pick<Stores, 'log'>,
  runId: string,
  seq: number
): Promise<boolean | undefined> {
  if (seq === 0) return false
  const [entry] = await log.read(runId, seq - 1, { entries: 1, bytes: 1 })
  return entry && isTerminalPart(entry.part)
}
