import { setTimeout as pause } from 'node:timers/promises'
import { toLoggable, type OpenPush } from '@svc/contract'
import { pauseAfter } from './deliver.ts'
import type { PushSource } from './push-reader.ts'

/** Tasks per claim. */
const MAX_TASKS = 50
/** Milliseconds between checks whether runs are still being recovered. */
const RECOVERY_CHECK = 100

/**
 * Claims the push notifications of an endpoint that earlier processes or dead nodes left, a few at a time, as they are asked for; a failed
 * claim is repeated. Waits until runs are recovered, since only then is it known which of them continue.
 * @throws the signal's reason when it aborts
 */
export async function* claimPushes(
  source: Pick<PushSource, 'runs' | 'tasks' | 'rules' | 'log'>,
  endpoint: string,
  signal: AbortSignal
): AsyncGenerator<OpenPush, void> {
  while (source.runs.recovering) await pause(RECOVERY_CHECK, undefined, { signal, ref: false })
  for (;;) {
    const pushes = await claimSome(source, endpoint, signal)
    if (pushes.length === 0) return
    yield* pushes
  }
}

async function claimSome(
  { tasks, rules, log }: Pick<PushSource, 'tasks' | 'rules' | 'log'>,
  endpoint: string,
  signal: AbortSignal
): Promise<OpenPush[]> {
  for (let faults = 1; ; faults++) {
    signal.throwIfAborted()
    try {
      return await tasks.claimPushes({ endpoint, maxTasks: MAX_TASKS })
    } catch (err) {
      log.error({ err: toLoggable(err) }, 'interrupted push notifications cannot be claimed yet')
      await pause(pauseAfter(faults, rules), undefined, { signal, ref: false })
    }
  }
}
