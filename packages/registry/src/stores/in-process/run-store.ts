import {
  RUN_FORMAT,
  createScopeFilter,
  encodePieces,
  hasMetadata,
  isTerminalStatus,
  runnableKeyText,
  type ChangedRunPage,
  type ChangedRunQuery,
  type CheckpointStore,
  type FoundInput,
  type InputKind,
  type InputOutcome,
  type InputPage,
  type InputQuery,
  type InputSummary,
  type LeftPage,
  type LeftQuery,
  type NextQuery,
  type OwnedRunQuery,
  type RunChange,
  type RunPage,
  type RunQuery,
  type RunQueue,
  type RunStore,
  type RunSummary,
  type StoredInput,
  type StoredRun,
  type StreamLog,
  type Wanted
} from '@svc/contract'
import { RUN_ERR_FENCED } from '@svc/contract/errors'
import {
  firstToExpire,
  formatInputCursor,
  pageOf,
  parseInputCursor,
  parseRunCursor,
  pendingOf,
  QueueWorkers,
  runIdOf,
  summarizeInput,
  summarizeRun,
  type RunPosition
} from '@svc/contract/stores'
import type { KeptRun, RunEntry, RunHead } from './run-entry.ts'
import type { RunTable } from './run-table.ts'
import type { InProcessWebhooks } from './webhook-store.ts'

/** Summarizes a run for a list. */
function summaryOf(run: RunEntry): RunSummary {
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
function summarize(run: RunEntry, input: StoredInput): InputSummary {
  const summaries = (run.summaries ??= new Map())
  let summary = summaries.get(input.inputId)
  if (summary === undefined) summaries.set(input.inputId, (summary = summarizeInput(input)))
  return { ...summary, answer: input.answer }
}

/** An input with its run. */
function findInput(run: RunEntry | undefined, inputId: string): FoundInput | undefined {
  const input = run?.record.inputs.find((each) => each.inputId === inputId)
  return run && input && toFound(run, input)
}

/** Lists a page of pending inputs, those of the newest run first. @throws REG_ERR_BAD_CURSOR */
function listInputs(
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

/** Lists a page of runs by their creation, with `since` by their last change; summarizes only those on the page. @throws REG_ERR_BAD_CURSOR */
function listRuns(kept: Iterable<KeptRun>, query: RunQuery): RunPage {
  const { scope, owner, status, kind, name, metadata, since, order, limit, cursor } = query
  const after = cursor === undefined ? undefined : parseRunCursor(cursor)
  const isInScope = scope === undefined ? () => true : createScopeFilter(scope)
  const found: KeptRun[] = []
  for (const run of kept) {
    const { head } = run
    if (owner !== undefined && head.owner !== owner) continue
    if (since !== undefined && head.updatedAt < since) continue
    if (status !== undefined && head.status !== status) continue
    if (kind !== undefined && head.kind !== kind) continue
    if (name !== undefined && head.name !== name) continue
    if (metadata !== undefined && !hasMetadata(head.metadata, metadata)) continue
    if (isInScope(head)) found.push(run)
  }
  return toPage(found, since === undefined ? 'createdAt' : 'updatedAt', limit, after, order)
}

/** Lists a page of runs, last changed first, with the total of all pages. @throws REG_ERR_BAD_CURSOR */
function listChangedRuns(
  kept: Iterable<KeptRun>,
  { owner, scope, sessionId, status, errorCode, inputKind, since = 0, limit, cursor }: ChangedRunQuery
): ChangedRunPage {
  const after = cursor === undefined ? undefined : parseRunCursor(cursor)
  const isInScope = createScopeFilter(scope)
  const found: KeptRun[] = []
  for (const run of kept) {
    const { head } = run
    if (head.owner !== owner || head.updatedAt < since) continue
    if (sessionId !== undefined && head.sessionId !== sessionId) continue
    if (status !== undefined && head.status !== status) continue
    if (errorCode !== undefined && !isWanted(errorCode, (code) => head.error?.code === code)) continue
    if (inputKind !== undefined && !isWanted(inputKind, (kind) => waitsFor(head, kind))) continue
    if (isInScope(head)) found.push(run)
  }
  return { ...toPage(found, 'updatedAt', limit, after), total: found.length }
}

function isWanted<T>(wanted: Wanted<T>, has: (value: T) => boolean): boolean {
  return 'is' in wanted ? has(wanted.is) : !has(wanted.isNot)
}

function waitsFor(run: RunHead, wanted: InputKind): boolean {
  return pendingOf(run).some(({ kind }) => kind === wanted)
}

/** The ids of the runs of a person. */
function listOwnedRuns(
  runs: { live(): readonly RunEntry[]; all(): Iterable<KeptRun> },
  { owner, session, unfinished, limit }: OwnedRunQuery
): string[] {
  const found: string[] = []
  for (const { head } of unfinished === true ? runs.live() : runs.all()) {
    if (found.length === limit) break
    if ((head.userId ?? head.owner) !== owner) continue
    if (unfinished === false && !isTerminalStatus(head.status)) continue
    if (session === undefined || isIn(session, head)) found.push(head.runId)
  }
  return found
}

function isIn(
  { registry, kind, name, sessionId }: NonNullable<OwnedRunQuery['session']>,
  run: RunHead
): boolean {
  return run.sessionId === sessionId && run.name === name && run.kind === kind && run.registry === registry
}

/** Lists a page of unfinished runs, oldest first: no other process has any of them. @throws REG_ERR_BAD_CURSOR */
function listLeftRuns(live: readonly RunEntry[], { limit, cursor }: LeftQuery): LeftPage {
  const after = cursor === undefined ? undefined : parseRunCursor(cursor)
  const found = Array.from(live, ({ record }) => record)
    .filter(({ epoch, format }) => epoch > 0 && format <= RUN_FORMAT)
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
  found: readonly KeptRun[],
  time: 'createdAt' | 'updatedAt',
  limit: number,
  after: RunPosition | undefined,
  direction: RunQuery['order'] = 'desc'
): RunPage {
  const sign = direction === 'desc' ? 1 : -1
  // Negative if the run precedes the position.
  const order = ({ head }: KeptRun, at: number, runId: string) =>
    sign * (at - head[time] || (head.runId < runId ? 1 : head.runId > runId ? -1 : 0))
  const first: KeptRun[] = []
  // Recently ended runs come last in `found`; iterating from the end, most runs are past the page.
  for (let index = found.length - 1; index >= 0; index--) {
    const run = found[index]!
    if (after !== undefined && order(run, after.at, after.runId) <= 0) continue
    let place = first.length
    while (place > 0 && order(run, first[place - 1]!.head[time], first[place - 1]!.head.runId) < 0) place--
    if (place > limit) continue
    first.splice(place, 0, run)
    if (first.length > limit + 1) first.pop()
  }
  const { page, nextCursor } = pageOf(first, limit, ({ head }) => ({
    at: head[time],
    runId: head.runId
  }))
  return { runs: page.map((run) => summaryOf(run.open())), nextCursor }
}

/** The records of runs and the journal of their steps, in process memory. */
export function createInProcessRunStore(runs: RunTable): RunStore {
  return {
    create(record) {
      const earlier = runs.add({ ...record })
      return earlier && summaryOf(earlier)
    },
    get(runId) {
      const record = runs.find(runId)?.record
      return record && { ...record }
    },
    find(runId) {
      const run = runs.find(runId)
      return run && summaryOf(run)
    },
    findStarted(start) {
      const run = runs.findStarted(start)
      return run && summaryOf(run)
    },
    freeStartKey: (runId) => runs.freeStartKey(runId),
    *readResult(runId) {
      const result = runs.find(runId)?.record.result
      if (result) yield* encodePieces(result)
    },
    list: (query) => listRuns(runs.all(), query),
    listChanged: (query) => listChangedRuns(runs.all(), query),
    listLeft: (query) => listLeftRuns(runs.live(), query),
    listOwned: (query) => listOwnedRuns(runs, query),
    listInputs: (query) => listInputs(runs.live(), query),
    findInput: (inputId) => findInput(runs.find(runIdOf(inputId)), inputId),
    *readArgs(inputId) {
      const { inputs } = runs.find(runIdOf(inputId))?.record ?? {}
      const args = inputs?.find((each) => each.inputId === inputId)?.args
      if (args !== undefined) yield* encodePieces(args)
    },
    lease(runId) {
      const run = runs.findLive(runId)
      return run && run.record.format <= RUN_FORMAT ? runs.lease(run) : undefined
    },
    requestCancel(runId, leftTurn) {
      const record = runs.findLive(runId)?.record
      if (record === undefined) return false
      if (!record.cancelRequested) record.leftTurn = leftTurn ?? null
      return (record.cancelRequested = true)
    },
    answerInput(runId, inputId, answer) {
      const record = runs.findLive(runId)?.record
      const input = record?.inputs.find((each) => each.inputId === inputId)
      if (record === undefined || input === undefined || input.answer !== null) return false
      record.inputs = record.inputs.map((each) => (each === input ? { ...each, answer } : each))
      return true
    },
    replaceAnswer(inputId, from, answer, sealKey) {
      const run = runs.findLive(runIdOf(inputId))
      const input = run?.record.inputs.find((each) => each.inputId === inputId)
      if (run === undefined || input === undefined) return false
      const isSame = from === null ? input.answer === null : isSealedAs(from, input.answer)
      if (!isSame) return false
      const { sealKey: _, ...rest } = input
      const replaced = { ...rest, ...(sealKey !== undefined && { sealKey }), answer }
      run.record.inputs = run.record.inputs.map((each) => (each === input ? replaced : each))
      run.summaries?.delete(inputId)
      return true
    },
    readStep(runId, key) {
      const steps = runs.find(runId)?.steps
      return steps?.has(key) ? { output: structuredClone(steps.get(key)) } : undefined
    },
    recordStep(runId, epoch, key, output) {
      const run = runs.findLive(runId)
      if (run === undefined || run.record.epoch !== epoch) throw new RUN_ERR_FENCED(runId)
      run.recordStep(key, output)
    },
    offerSteer: (steer) => runs.offerSteer(steer),
    findSteer: (steerId) => runs.findSteer(steerId),
    remove: (runId) => runs.remove(runId),
    sweep: (now) => runs.sweep(now),
    onRemove: (listener) => runs.onRemove(listener)
  }
}

function isSealedAs({ sealed }: InputOutcome, answer: InputOutcome | null): boolean {
  return sealed !== undefined && answer?.sealed === sealed
}

/** Queued runs in process memory. */
export function createInProcessRunQueue(runs: RunTable, checkpoints: CheckpointStore): RunQueue {
  const workers = new QueueWorkers()
  // The waiting runs of each owner, in the order in which they were added.
  const owners = new Map<string, Map<string, RunEntry>>()
  const begun = new Set<RunEntry>()

  const countBegun = () => {
    const counts = new Map<string, number>()
    for (const run of begun)
      if (run.slot === undefined) begun.delete(run)
      else counts.set(run.record.owner, (counts.get(run.record.owner) ?? 0) + 1)
    return counts
  }

  function findNext({ runnables, perOwner, unlimited }: NextQuery): RunEntry | undefined {
    const known = new Set(runnables.map(runnableKeyText))
    const counts = countBegun()
    let next: { run: RunEntry; count: number } | undefined
    for (const [owner, waiting] of owners) {
      if (waiting.size === 0) owners.delete(owner)
      const count = counts.get(owner) ?? 0
      if (count >= perOwner && owner !== unlimited) continue
      const run = firstOf(waiting, known)
      if (run === undefined) continue
      const isSooner =
        next === undefined ||
        count < next.count ||
        (count === next.count && run.record.queuedAt! < next.run.record.queuedAt!)
      if (isSooner) next = { run, count }
    }
    return next?.run
  }

  return {
    add(record, first, checkpoint) {
      const { runId, owner } = record
      const isNew = runs.find(runId) === undefined
      const earlier = isNew ? runs.add({ ...record }) : undefined
      if (earlier !== undefined) return summaryOf(earlier)
      const run = runs.findLive(runId)
      // It was canceled before it could wait.
      if (run === undefined) return undefined
      run.record = { ...record }
      run.log.push(first)
      void checkpoints.save(runId, 0, checkpoint)
      const waiting = owners.get(owner) ?? new Map<string, RunEntry>()
      owners.set(owner, waiting.set(runId, run))
      run.queue = waiting
      run.wake()
      workers.look(1)
      return undefined
    },
    next(query) {
      const run = findNext(query)
      if (run === undefined) return undefined
      const { record } = run
      const epoch = runs.lease(run)
      record.status = 'working'
      record.updatedAt = Date.now()
      begun.add(run)
      const { runId, owner, registry, kind, name } = record
      return { runId, owner, registry, kind, name, epoch }
    },
    withdraw(runId) {
      const run = runs.findLive(runId)
      return run?.queue && runs.lease(run)
    },
    isWaiting: () => [...owners.values()].some((waiting) => waiting.size > 0),
    serve: (concurrency, take) => workers.serve(concurrency, take),
    look: () => workers.look()
  }
}

function firstOf(waiting: ReadonlyMap<string, RunEntry>, known: ReadonlySet<string>): RunEntry | undefined {
  for (const run of waiting.values()) if (known.has(runnableKeyText(run.record))) return run
  return undefined
}

/**
 * The logs of runs, in process memory.
 * @param webhooks get each change of a run's record
 */
export function createInProcessStreamLog(
  runs: RunTable,
  webhooks: Pick<InProcessWebhooks, 'report'>
): StreamLog {
  return {
    append(runId, epoch, entries, change, steps = []) {
      const run = runs.findLive(runId)
      if (run === undefined || run.record.epoch !== epoch) throw new RUN_ERR_FENCED(runId)
      for (const entry of entries) run.log.push(entry)
      for (const { key, output } of steps) run.recordStep(key, output)
      if (change !== undefined) {
        applyChange(run.record, change)
        if (change.preview !== undefined) run.preview = change.preview
        if (change.stats !== undefined) run.stats = change.stats
        // Summarized now, since a list may have to show thousands at once.
        if (change.input !== undefined) summarize(run, change.input)
        webhooks.report?.(run.record, change)
        if (isTerminalStatus(change.status)) runs.end(run)
      }
      run.wake()
    },
    read(runId, after, limit) {
      const run = runs.find(runId)
      if (run === undefined) return []
      flush(run)
      return run.log.read(after, limit)
    },
    abandon(runId) {
      const run = runs.find(runId)
      if (run !== undefined) run.wake(true)
    },
    onFollowed(runId, act) {
      const run = runs.findLive(runId)
      if (run === undefined || run.followers !== undefined) return false
      run.onFollowed = act
      return true
    },
    follow(runId, follower) {
      const run = runs.findFollowed(runId)
      if (run === undefined) {
        follower(true)
        return () => {}
      }
      flush(run)
      const followers = (run.followers ??= new Set())
      followers.add(follower)
      return () => {
        if (!followers.delete(follower) || followers.size > 0) return
        run.followers = undefined
        runs.leftAlone(run)
      }
    }
  }
}

// Somebody reads the log: what is held of it is written.
function flush(run: RunEntry): void {
  const act = run.onFollowed
  run.onFollowed = undefined
  act?.()
}

function applyChange(record: StoredRun, change: RunChange): void {
  record.status = change.status
  record.updatedAt = change.at
  if (change.result !== undefined) record.result = change.result
  if (change.error !== undefined) record.error = change.error
  if (change.input !== undefined) record.inputs = [...record.inputs, change.input]
}

/** Checkpoints in process memory. */
export function createInProcessCheckpointStore(): CheckpointStore {
  const checkpoints = new Map<string, { epoch: number; json: string }>()
  return {
    save(runId, epoch, state) {
      if ((checkpoints.get(runId)?.epoch ?? 0) > epoch) throw new RUN_ERR_FENCED(runId)
      checkpoints.set(runId, { epoch, json: JSON.stringify(state) })
    },
    size(runId) {
      const found = checkpoints.get(runId)
      return found && Buffer.byteLength(found.json)
    },
    load(runId) {
      const found = checkpoints.get(runId)
      return found && { epoch: found.epoch, state: JSON.parse(found.json) as unknown }
    },
    remove: (runId) => void checkpoints.delete(runId)
  }
}
