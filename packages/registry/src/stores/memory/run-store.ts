import { RUN_ERR_FENCED } from '../../errors.ts'
import { formatRunCursor, parseRunCursor, type RunPosition } from '../run-cursor.ts'
import type { RunQuery, RunStore, StoredRun } from '../run-store.ts'
import type { MemoryRuns } from './memory-runs.ts'

/** The records of runs and the journal of their steps, in memory. */
export function createMemoryRunStore(runs: MemoryRuns): RunStore {
  return {
    create(record) {
      const earlier = runs.add({ ...record })?.record
      return earlier && { ...earlier }
    },
    get(runId) {
      const record = runs.find(runId)?.record
      return record && { ...record }
    },
    list(query) {
      const found = select(runs.all(), query)
      const page = found.slice(0, query.limit)
      const last = page.at(-1)
      return { runs: page, nextCursor: last && found.length > page.length ? formatRunCursor(last) : null }
    },
    listUnfinished() {
      const unfinished = runs.live().map(({ record }) => ({ ...record }))
      return unfinished.sort((a, b) => newestFirst(b, a))
    },
    lease(runId) {
      const record = runs.findLive(runId)?.record
      return record && ++record.epoch
    },
    answerApproval(runId, approvalId, answer) {
      const record = runs.findLive(runId)?.record
      const approval = record?.approvals.find((each) => each.approvalId === approvalId)
      if (record === undefined || approval === undefined || approval.answer !== null) return false
      record.approvals = record.approvals.map((each) => (each === approval ? { ...each, answer } : each))
      return true
    },
    readStep(runId, key) {
      const steps = runs.find(runId)?.steps
      return steps?.has(key) ? { output: structuredClone(steps.get(key)) } : undefined
    },
    recordStep(runId, epoch, key, output) {
      const run = runs.findLive(runId)
      if (run === undefined || run.record.epoch !== epoch) throw new RUN_ERR_FENCED(runId)
      run.steps ??= new Map()
      if (!run.steps.has(key)) run.steps.set(key, structuredClone(output))
    },
    remove: (runId) => runs.remove(runId),
    sweep: (now) => runs.sweep(now)
  }
}

function select(all: Iterable<{ record: StoredRun }>, query: RunQuery): StoredRun[] {
  const after = query.cursor === undefined ? undefined : parseRunCursor(query.cursor)
  const found: StoredRun[] = []
  for (const { record } of all) {
    if (query.owner !== undefined && record.owner !== query.owner) continue
    if (query.status !== undefined && record.status !== query.status) continue
    if (query.kind !== undefined && record.kind !== query.kind) continue
    if (query.name !== undefined && record.name !== query.name) continue
    if (after !== undefined && newestFirst(record, after) <= 0) continue
    found.push({ ...record })
  }
  return found.sort(newestFirst)
}

function newestFirst(a: RunPosition, b: RunPosition): number {
  return b.createdAt - a.createdAt || (a.runId < b.runId ? 1 : a.runId > b.runId ? -1 : 0)
}
