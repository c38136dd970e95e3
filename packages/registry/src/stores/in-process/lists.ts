import {
  createScopeFilter,
  hasMetadata,
  isTerminalStatus,
  type ChangedRunPage,
  type ChangedRunQuery,
  type FoundInput,
  type InputKind,
  type InputPage,
  type InputQuery,
  type InputSummary,
  type LeftPage,
  type LeftQuery,
  type OwnedRunQuery,
  type RunPage,
  type RunQuery,
  type RunSummary,
  type StoredInput,
  type StoredRun,
  type Wanted
} from '@svc/contract'
import {
  firstToExpire,
  formatInputCursor,
  pageOf,
  parseInputCursor,
  parseRunCursor,
  pendingOf,
  runIdOf,
  summarizeInput,
  summarizeRun,
  type RunPosition
} from '@svc/contract/stores'
import type { RunEntry } from './run-table.ts'

/** Summarizes a run for a list. */
export function summaryOf(run: RunEntry): RunSummary {
  const { record, preview, stats, log } = run
  const known = { preview, stats, bytes: log.size, queuePosition: positionOf(run) }
  return summarizeRun(record, known, (input) => summarize(run, input))
}

function positionOf({ queue, record }: RunEntry): number | null {
  if (queue === undefined) return null
  let position = 1
  for (const runId of queue.keys()) {
    if (runId === record.runId) break
    position++
  }
  return position
}

/** Summarizes an input; its arguments are encoded once, however often it is listed. */
export function summarize(run: RunEntry, input: StoredInput): InputSummary {
  const summaries = (run.summaries ??= new Map())
  let summary = summaries.get(input.inputId)
  if (summary === undefined) summaries.set(input.inputId, (summary = summarizeInput(input)))
  return { ...summary, answer: input.answer }
}

/** An input with its run. */
export function findInput(run: RunEntry | undefined, inputId: string): FoundInput | undefined {
  const input = run?.record.inputs.find((each) => each.inputId === inputId)
  return run && input && toFound(run, input)
}

/** Lists a page of pending inputs, those of the newest run first. @throws REG_ERR_BAD_CURSOR */
export function listInputs(
  kept: readonly RunEntry[],
  { kinds, scope, owner, runId, limit, cursor }: InputQuery
): InputPage {
  const after = cursor === undefined ? undefined : parseInputCursor(cursor)
  const last = after && { createdAt: after.createdAt, runId: runIdOf(after.inputId) }
  const isInScope = scope === undefined ? () => true : createScopeFilter(scope)
  const waiting = kept
    .filter(
      ({ record }) =>
        record.status === 'input-required' &&
        (owner === undefined || record.owner === owner) &&
        (runId === undefined || record.runId === runId) &&
        (last === undefined || newestFirst(record, last) >= 0) &&
        isInScope(record)
    )
    .sort((a, b) => newestFirst(a.record, b.record))

  const inputs: FoundInput[] = []
  for (const run of waiting) {
    for (const input of pendingOf(run.record)) {
      if (!kinds.includes(input.kind)) continue
      if (after && run.record.runId === last!.runId && firstToExpire(input, after) <= 0) continue
      if (inputs.length === limit) return { inputs, nextCursor: formatInputCursor(inputs.at(-1)!) }
      inputs.push(toFound(run, input))
    }
  }
  return { inputs, nextCursor: null }
}

function toFound(run: RunEntry, input: StoredInput): FoundInput {
  const { runId, registry, kind, name, owner, createdAt, status } = run.record
  return {
    run: { runId, registry, kind, name, owner, createdAt, status },
    input: summarize(run, input)
  }
}

type Begun = Pick<StoredRun, 'createdAt' | 'runId'>

function newestFirst(a: Begun, b: Begun): number {
  return b.createdAt - a.createdAt || (a.runId < b.runId ? 1 : a.runId > b.runId ? -1 : 0)
}

/** Lists a page of runs, newest first, with `since` last changed first; summarizes only those on the page. @throws REG_ERR_BAD_CURSOR */
export function listRuns(kept: Iterable<RunEntry>, query: RunQuery): RunPage {
  const { scope, owner, status, kind, name, metadata, since, limit, cursor } = query
  const after = cursor === undefined ? undefined : parseRunCursor(cursor)
  const isInScope = scope === undefined ? () => true : createScopeFilter(scope)
  const found: RunEntry[] = []
  for (const run of kept) {
    const { record } = run
    if (owner !== undefined && record.owner !== owner) continue
    if (since !== undefined && record.updatedAt < since) continue
    if (status !== undefined && record.status !== status) continue
    if (kind !== undefined && record.kind !== kind) continue
    if (name !== undefined && record.name !== name) continue
    if (metadata !== undefined && !hasMetadata(record.metadata, metadata)) continue
    if (isInScope(record)) found.push(run)
  }
  return toPage(found, since === undefined ? 'createdAt' : 'updatedAt', limit, after)
}

/** Lists a page of runs, last changed first, with the total of all pages. @throws REG_ERR_BAD_CURSOR */
export function listChangedRuns(
  kept: Iterable<RunEntry>,
  { owner, scope, sessionId, status, errorCode, inputKind, since = 0, limit, cursor }: ChangedRunQuery
): ChangedRunPage {
  const after = cursor === undefined ? undefined : parseRunCursor(cursor)
  const isInScope = createScopeFilter(scope)
  const found: RunEntry[] = []
  for (const run of kept) {
    const { record } = run
    if (record.owner !== owner || record.updatedAt < since) continue
    if (sessionId !== undefined && record.sessionId !== sessionId) continue
    if (status !== undefined && record.status !== status) continue
    if (errorCode !== undefined && !isWanted(errorCode, (code) => record.error?.code === code)) continue
    if (inputKind !== undefined && !isWanted(inputKind, (kind) => waitsFor(record, kind))) continue
    if (isInScope(record)) found.push(run)
  }
  return { ...toPage(found, 'updatedAt', limit, after), total: found.length }
}

function isWanted<T>(wanted: Wanted<T>, has: (value: T) => boolean): boolean {
  return 'is' in wanted ? has(wanted.is) : !has(wanted.isNot)
}

function waitsFor(record: StoredRun, wanted: InputKind): boolean {
  return pendingOf(record).some(({ kind }) => kind === wanted)
}

/** The ids of the runs of a person. */
export function listOwnedRuns(
  runs: { live(): readonly RunEntry[]; all(): Iterable<RunEntry> },
  { owner, session, unfinished, limit }: OwnedRunQuery
): string[] {
  const found: string[] = []
  for (const { record } of unfinished === true ? runs.live() : runs.all()) {
    if (found.length === limit) break
    if ((record.userId ?? record.owner) !== owner) continue
    if (unfinished === false && !isTerminalStatus(record.status)) continue
    if (session === undefined || isIn(session, record)) found.push(record.runId)
  }
  return found
}

function isIn(
  { registry, kind, name, sessionId }: NonNullable<OwnedRunQuery['session']>,
  run: StoredRun
): boolean {
  return run.sessionId === sessionId && run.name === name && run.kind === kind && run.registry === registry
}

/** Lists a page of unfinished runs, oldest first: no other process has any of them. @throws REG_ERR_BAD_CURSOR */
export function listLeftRuns(live: readonly RunEntry[], { limit, cursor }: LeftQuery): LeftPage {
  const after = cursor === undefined ? undefined : parseRunCursor(cursor)
  const found = Array.from(live, ({ record }) => record)
    .filter(({ epoch }) => epoch > 0)
    .filter(({ createdAt, runId }) => after === undefined || isOlder(after, { at: createdAt, runId }))
    .sort((a, b) =>
      isOlder({ at: a.createdAt, runId: a.runId }, { at: b.createdAt, runId: b.runId }) ? -1 : 1
    )
  const { page, nextCursor } = pageOf(found, limit, ({ createdAt: at, runId }) => ({ at, runId }))
  return {
    runs: page.map(({ runId, registry, kind, name, owner, cancelRequested }) => ({
      runId,
      registry,
      kind,
      name,
      owner,
      cancelRequested
    })),
    nextCursor
  }
}

function isOlder(one: RunPosition, other: RunPosition): boolean {
  return one.at < other.at || (one.at === other.at && one.runId < other.runId)
}

function toPage(
  found: readonly RunEntry[],
  time: 'createdAt' | 'updatedAt',
  limit: number,
  after: RunPosition | undefined
): RunPage {
  // Negative if the run precedes the position.
  const order = ({ record }: RunEntry, at: number, runId: string) =>
    at - record[time] || (record.runId < runId ? 1 : record.runId > runId ? -1 : 0)
  const first: RunEntry[] = []
  // Recently ended runs come last in `found`; iterating from the end, most runs are past the page.
  for (let index = found.length - 1; index >= 0; index--) {
    const run = found[index]!
    if (after !== undefined && order(run, after.at, after.runId) <= 0) continue
    let place = first.length
    while (place > 0 && order(run, first[place - 1]!.record[time], first[place - 1]!.record.runId) < 0)
      place--
    if (place > limit) continue
    first.splice(place, 0, run)
    if (first.length > limit + 1) first.pop()
  }
  const { page, nextCursor } = pageOf(first, limit, ({ record }) => ({
    at: record[time],
    runId: record.runId
  }))
  return { runs: page.map(summaryOf), nextCursor }
}
