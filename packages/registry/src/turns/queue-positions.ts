import type { RunSummary, SessionStore, TurnPlace } from '@svc/contract'
import type { RunTurn } from '../engine/place-run.ts'

/** Where the runs of this process are found. */
export interface KnownRuns {
  get(runId: string): { readonly turn: RunTurn | undefined } | undefined
}

/** The positions of runs that wait for the turn of their session: from this process, or from the tickets that all processes share. */
export class QueuePositions {
  readonly #live: KnownRuns
  readonly #sessions: SessionStore

  constructor(live: KnownRuns, sessions: SessionStore) {
    this.#live = live
    this.#sessions = sessions
  }

  /** The run with its position, if it waits. */
  async addTo(run: RunSummary): Promise<RunSummary> {
    return (await this.addToAll([run]))[0]!
  }

  /** The runs, those that wait with their positions. */
  async addToAll(runs: RunSummary[]): Promise<RunSummary[]> {
    const waiting = runs.filter(
      ({ status, queuePosition }) => status === 'submitted' && queuePosition === null
    )
    if (waiting.length === 0) return runs
    const places = new Map<string, TurnPlace>()
    const elsewhere: string[] = []
    for (const { runId } of waiting) {
      const place = this.#live.get(runId)?.turn?.place
      if (place === undefined) elsewhere.push(runId)
      else places.set(runId, place)
    }
    if (elsewhere.length > 0)
      for (const [runId, place] of (await this.#sessions.places?.(elsewhere)) ?? []) places.set(runId, place)
    return runs.map((run) => {
      const { position = 0 } = places.get(run.runId) ?? {}
      return position > 0 ? { ...run, queuePosition: position } : run
    })
  }
}
