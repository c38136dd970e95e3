import { setTimeout as pause } from 'node:timers/promises'
import type { OpenPush, OpenPushPage } from '@svc/registry'
import { toLoggable } from '@svc/registry/kit'
import { pauseAfter } from './deliver.ts'
import type { PushSource } from './push-reader.ts'

/** Configurations per page. */
const PAGE_SIZE = 100
/** Milliseconds between checks whether runs are still being recovered. */
const RECOVERY_CHECK = 100

/**
 * The push notifications that a restart interrupted, read lazily in pages; a failed read is repeated. Waits until runs are
 * recovered, since only then is it known which of them continue.
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
      log.error({ err: toLoggable(err) }, 'interrupted push notifications cannot be listed yet')
      await pause(pauseAfter(faults, rules), undefined, { signal, ref: false })
    }
  }
}
