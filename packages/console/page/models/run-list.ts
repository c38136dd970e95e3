import { signal as createSignal } from '@preact/signals'
import { listRuns, type RunFilter, type RunItem } from '../api/resources.ts'

const PAGE = 100
/** With more pages of changes the list begins anew. */
const MAX_PAGES = 10
/** Milliseconds of changes that are read again: they are stored after their time, and clocks of nodes differ. */
const OVERLAP = 2_000

// A run may change twice in a millisecond.
const stateOf = ({ status, updatedAt }: RunItem) => status + updatedAt
const newestFirst = (a: RunItem, b: RunItem) =>
  a.createdAt < b.createdAt || (a.createdAt === b.createdAt && a.runId < b.runId) ? 1 : -1

/** The visitor's runs, newest first: what changed is read again and again, older ones when they are scrolled to. */
export class RunList {
  readonly runs = createSignal<readonly RunItem[]>([])
  readonly error = createSignal<unknown>(undefined)
  readonly isLoaded = createSignal(false)
  readonly hasMore = createSignal(false)
  readonly #filter: RunFilter
  /** Nothing that changed later is known; undefined before the list begins. */
  #changedAt: number | undefined
  #cursor: string | null = null
  #isPaging = false

  constructor(filter: RunFilter) {
    this.#filter = filter
  }

  /** Reads the newest runs, later what has changed since. */
  async refresh(signal: AbortSignal): Promise<void> {
    try {
      await (this.#changedAt === undefined ? this.#begin(signal) : this.#update(this.#changedAt, signal))
      this.error.value = undefined
    } catch (err) {
      if (!signal.aborted) this.error.value = err
    } finally {
      if (!signal.aborted) this.isLoaded.value = true
    }
  }

  /** Reads the page after the oldest run that is known. */
  async loadMore(): Promise<void> {
    if (this.#cursor === null || this.#isPaging) return
    this.#isPaging = true
    try {
      const page = await listRuns({ ...this.#filter, limit: PAGE, cursor: this.#cursor })
      const known = new Set(this.runs.value.map(({ runId }) => runId))
      this.runs.value = [...this.runs.value, ...page.runs.filter(({ runId }) => !known.has(runId))]
      this.#setCursor(page.nextCursor)
    } catch (err) {
      this.error.value = err
    } finally {
      this.#isPaging = false
    }
  }

  async #begin(signal: AbortSignal): Promise<void> {
    const [last] = (await this.#read({ since: new Date(0).toISOString(), limit: 1 }, signal)).runs
    const page = await this.#read({ status: this.#filter.status }, signal)
    this.#changedAt = Date.parse(last?.updatedAt ?? '') || 0
    this.runs.value = page.runs
    this.#setCursor(page.nextCursor)
  }

  async #update(changedAt: number, signal: AbortSignal): Promise<void> {
    const since = new Date(changedAt - OVERLAP).toISOString()
    const known = new Map(this.runs.value.map((run) => [run.runId, stateOf(run)]))
    const changed = new Map<string, RunItem>()
    let cursor: string | null = null
    for (let count = 0; count === 0 || cursor !== null; count++) {
      if (count === MAX_PAGES) return this.#begin(signal)
      const page = await this.#read({ since, ...(cursor !== null && { cursor }) }, signal)
      // A run that changes meanwhile is only on the first page of the next look.
      const news = page.runs.filter((run) => known.get(run.runId) !== stateOf(run))
      for (const run of news) changed.set(run.runId, run)
      cursor = news.length === 0 ? null : page.nextCursor
    }
    // Others move a run in the queue without a change of its own.
    if (this.runs.value.some(({ queuePosition }) => queuePosition !== undefined)) {
      const { runs } = await this.#read({ status: 'submitted' }, signal)
      for (const run of runs) changed.set(run.runId, run)
    }
    for (const { updatedAt } of changed.values())
      this.#changedAt = Math.max(this.#changedAt ?? 0, Date.parse(updatedAt))
    if (changed.size > 0) this.#merge(changed)
  }

  #merge(changed: ReadonlyMap<string, RunItem>): void {
    const { status } = this.#filter
    const runs = this.runs.value
    const known = new Set(runs.map(({ runId }) => runId))
    const oldest = this.hasMore.value ? runs.at(-1)?.createdAt : undefined
    const added = [...changed.values()].filter(
      ({ runId, createdAt }) => !known.has(runId) && createdAt >= (oldest ?? '')
    )
    this.runs.value = [...runs.map((run) => changed.get(run.runId) ?? run), ...added]
      .filter((run) => status === undefined || run.status === status)
      .sort(newestFirst)
  }

  #read(query: RunFilter, signal: AbortSignal) {
    const { name, metadata } = this.#filter
    return listRuns({ name, metadata, limit: PAGE, ...query }, { signal })
  }

  #setCursor(cursor: string | null): void {
    this.#cursor = cursor
    this.hasMore.value = cursor !== null
  }
}
