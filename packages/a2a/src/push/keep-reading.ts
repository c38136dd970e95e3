import { setTimeout as pause } from 'node:timers/promises'
import { codeOf, toLoggable } from '@svc/registry'
import { pauseAfter } from './deliver.ts'
import type { PushReader, PushSource } from './push-reader.ts'

/** Has a reader go on until there is no more to tell, or the signal aborts: after a pause where its receiver or a store failed. */
export async function keepReading(
  reader: Pick<PushReader, 'tell'>,
  { rules, log }: Pick<PushSource, 'rules' | 'log'>,
  runId: string,
  signal: AbortSignal
): Promise<void> {
  for (let faults = 0; !signal.aborted;) {
    try {
      const wait = await reader.tell()
      if (wait === undefined) return
      faults = 0
      await pause(wait, undefined, { signal })
    } catch (err) {
      if (signal.aborted) return
      // Each reader says so once: when a store fails, all of them have the same to say.
      if (faults++ === 0) log.error({ err: toLoggable(err), runId }, 'push notifications are held up')
      if (isDamaged(err)) return
      await pause(pauseAfter(faults, rules), undefined, { signal }).catch(() => {})
    }
  }
}

function isDamaged(err: unknown): boolean {
  return codeOf(err) === 'RUN_ERR_DAMAGED'
}
