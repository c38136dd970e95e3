import { codeOf, isTerminalStatus, RUN_ERR_NOT_ENDED } from '@svc/contract'
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
