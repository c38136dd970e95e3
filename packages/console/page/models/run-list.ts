import { signal as createSignal } from '@preact/signals'
import { getRun, listRuns, type RunFilter, type RunItem } from '../api/resources.ts'

const PAGE = 100
/** Runs under way beyond the first page that are asked for one by one. */
const MAX_SINGLE = 10

const isOver = ({ status }: RunItem) => status === 'completed' || status === 'failed' || status === 'canceled'

/** The visitor's runs, newest first: the first page is read again and again, older ones when they are scrolled to. */
export class RunList {
  readonly runs = createSignal<readonly RunItem[]>([])
  readonly error = createSignal<unknown>(undefined)
  readonly isLoaded = createSignal(false)
  readonly hasMore = createSignal(false)
  readonly #filter: RunFilter
  #cursor: string | null = null
  #isPaging = false

  constructor(filter: RunFilter) {
    this.#filter = filter
  }

  /** Reads the newest runs, and those under way further down. */
  async refresh(signal: AbortSignal): Promise<void> {
    try {
      const page = await listRuns({ ...this.#filter, limit: PAGE }, { signal })
      if (!this.isLoaded.value) this.#setCursor(page.nextCursor)
      const known = new Set(page.runs.map(({ runId }) => runId))
      const last = page.runs.at(-1)
      // What is newer than the end of the page and not on it no longer fits the filter, or is gone.
      const older = this.runs.value.filter(
        ({ runId, createdAt }) => !known.has(runId) && last !== undefined && createdAt <= last.createdAt
      )
      const moved = older.filter((run) => !isOver(run)).slice(0, MAX_SINGLE)
      const records = await Promise.all(
        moved.map(({ runId }) => getRun(runId, { signal }).catch(() => undefined))
      )
      const byId = new Map(
        records.flatMap((record) => (record === undefined ? [] : [[record.runId, record]]))
      )
      this.runs.value = [...page.runs, ...older.map((run) => byId.get(run.runId) ?? run)]
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

  #setCursor(cursor: string | null): void {
    this.#cursor = cursor
    this.hasMore.value = cursor !== null
  }
}
