import { setTimeout as pause } from 'node:timers/promises'
import { toLoggable, type OpenPush, type OpenPushPage } from '@svc/registry'
import { pauseAfter } from './deliver.ts'
import type { PushSource } from './push-reader.ts'

/** Configurations that are read from the store at once. */
const PAGE_SIZE = 100
/** Milliseconds between two looks at whether runs are still recovered. */
const RECOVERY_CHECK = 100

/**
 * What a restart left, page by page, each read when it is asked for; a store that fails is asked again. Runs go before: only
 * once they are recovered it is known which of them go on.
 * @throws the signal's reason when it aborts
 */
export async function* listOpenPushes(
  source: Pick<PushSource, 'runs' | 'tasks' | 'rules' | 'log'>,
  signal: AbortSignal
): AsyncGenerator<OpenPush, void> {
  while (source.runs.recovering) await pause(RECOVERY_CHECK, undefined, { signal, ref: false })
  for (let cursor: string | undefined; ;) {
    const { pushes, nextCursor } = await readPage(source, cursor, signal)
    yield* pushes
    if (nextCursor === null) return
    cursor = nextCursor
  }
}

async function readPage(
  { tasks, rules, log }: Pick<PushSource, 'tasks' | 'rules' | 'log'>,
  cursor: string | undefined,
  signal: AbortSignal
): Promise<OpenPushPage> {
  for (let faults = 1; ; faults++) {
    try {
      return await tasks.listOpenPushes({ limit: PAGE_SIZE, ...(cursor !== undefined && { cursor }) })
    } catch (err) {
      log.error({ err: toLoggable(err) }, 'push notifications of before the restart cannot be listed yet')
      await pause(pauseAfter(faults, rules), undefined, { signal, ref: false })
    }
  }
}
