import {
  codeOf,
  isTerminalStatus,
  nextTurn,
  type OwnedRunQuery,
  type SessionKey,
  type Stores
} from '@svc/contract'
import { RUN_ERR_NOT_ENDED } from '@svc/contract/errors'
import { AFTER_ALL, readEntries, type LogHost } from '../engine/log/log-reader.ts'
import type { RunEngine } from '../engine/run-engine.ts'

/** The parts of an engine that deletions need. */
export type ErasureHost = Pick<RunEngine, 'stores' | 'cancel' | 'closed'>

// Milliseconds in which the work that a deletion ends must have ended.
const PATIENCE = 30_000
/** Rows of one page. */
export const PAGE = 100

/** When the work that a deletion ends must have ended. */
export function deadlineOf({ closed }: ErasureHost): AbortSignal {
  return AbortSignal.any([closed, AbortSignal.timeout(PATIENCE)])
}

/** Ends runs, each once, whichever process has them. */
export class EndingRuns {
  readonly #host: ErasureHost
  readonly #ending = new Map<string, Promise<void>>()

  constructor(host: ErasureHost) {
    this.#host = host
  }

  /** Cancels a run unless it was canceled before. */
  end(runId: string): void {
    if (this.#ending.has(runId)) return
    const ending = this.#cancel(runId)
    // `settle` reports it.
    ending.catch(() => {})
    this.#ending.set(runId, ending)
  }

  /** Resolves once all of them have ended. @throws RUN_ERR_NOT_ENDED, the errors of `RunEngine.cancel` */
  async settle(deadline: AbortSignal): Promise<void> {
    for (const [runId, ending] of this.#ending) {
      await ending
      await requireEnd(this.#host, runId, deadline)
    }
  }

  async #cancel(runId: string): Promise<void> {
    try {
      await this.#host.cancel(runId)
    } catch (err) {
      const code = codeOf(err)
      if (code !== 'RUN_ERR_NOT_FOUND' && code !== 'RUN_ERR_TERMINAL') throw err
    }
  }
}

async function requireEnd(host: LogHost, runId: string, deadline: AbortSignal): Promise<void> {
  for await (const _ of readEntries(host, runId, AFTER_ALL, deadline));
  const run = await host.stores.runs.find(runId)
  if (run !== undefined && !isTerminalStatus(run.status)) throw new RUN_ERR_NOT_ENDED()
}

/** Removes a run with its log, files, task and messages of webhooks. One per turn of the event loop: large runs must not block it. */
export async function removeRun({ runs, webhooks }: Stores, runId: string): Promise<void> {
  await nextTurn()
  await webhooks?.removeRun(runId)
  await runs.remove(runId)
}

/** Removes the ended runs of a person, or of one session; returns their ids. */
export async function removeEnded(
  stores: Stores,
  { owner, session }: Pick<OwnedRunQuery, 'owner' | 'session'>
): Promise<Set<string>> {
  const query = { owner, unfinished: false, limit: PAGE, ...(session && { session }) }
  const removed = new Set<string>()
  for (;;) {
    const runIds = await stores.runs.listOwned(query)
    for (const runId of runIds) {
      await removeRun(stores, runId)
      removed.add(runId)
    }
    if (runIds.length < PAGE) return removed
  }
}

/** The ids of the runs that entered a session; they may have been removed. */
export async function* enteredRuns({ sessionIndex }: Stores, key: SessionKey): AsyncGenerator<string, void> {
  for (let after = 0; ;) {
    const entered = (await sessionIndex?.runs(key, after, PAGE)) ?? []
    for (const { ordinal, runId } of entered) {
      after = ordinal
      yield runId
    }
    if (entered.length < PAGE) return
  }
}
