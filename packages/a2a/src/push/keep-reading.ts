import { setTimeout as pause } from 'node:timers/promises'
import { codeOf, toLoggable } from '@svc/contract'
import { pauseAfter } from './deliver.ts'
import type { PushReader, PushSource } from './push-reader.ts'

/** Runs a reader to the end of its task or until the signal aborts, with a pause after each failure. */
export async function keepReading(
  reader: Pick<PushReader, 'read'>,
  { rules, log }: Pick<PushSource, 'rules' | 'log'>,
  runId: string,
  signal: AbortSignal
): Promise<void> {
  for (let faults = 0; !signal.aborted;) {
    try {
      const wait = await reader.read()
      if (wait === undefined) return
      faults = 0
      await pause(wait, undefined, { signal })
    } catch (err) {
      if (signal.aborted) return
      // Once per reader: a failing store stops all of them.
      if (faults++ === 0) log.error({ err: toLoggable(err), runId }, 'push notifications are delayed')
      if (isDamaged(err)) return
      await pause(pauseAfter(faults, rules), undefined, { signal }).catch(() => {})
    }
  }
}

function isDamaged(err: unknown): boolean {
  return codeOf(err) === 'RUN_ERR_DAMAGED'
}
