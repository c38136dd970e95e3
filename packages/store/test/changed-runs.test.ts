import { deepEqual, equal } from 'node:assert/strict'
import {
  createInProcessStores,
  type ChangedRunQuery,
  type RunScope,
  type Stores,
  type StoredRun
} from '@svc/registry'
import { storedRun } from '@svc/testing'
import { array, assert, asyncProperty, constantFrom, integer, record, subarray } from 'fast-check'
import t, { type Test } from 'tap'
import { eachStore } from './helpers/each-store.ts'

const runnables = [
  { registry: 'global', kind: 'agent', name: 'a' },
  { registry: 'global', kind: 'agent', name: 'b' },
  { registry: 'global', kind: 'team', name: 'a' },
  { registry: 'other', kind: 'agent', name: 'a' }
] as const
const choose = {
  owner: constantFrom('ada', 'bob'),
  sessionId: constantFrom('s', 't'),
  status: constantFrom('working' as const, 'failed' as const),
  at: integer({ min: 1, max: 8 })
}

/** What happens to the runs that there are. */
interface Change {
  how: 'create' | 'change' | 'remove'
  which: number
  runnable: (typeof runnables)[number]
  owner: string
  sessionId: string
  status: 'working' | 'failed'
  at: number
}

const changes = record<Change>({
  ...choose,
  // Mostly they come.
  how: constantFrom('create', 'create', 'change', 'remove'),
  which: integer({ min: 0, max: 50 }),
  runnable: constantFrom(...runnables)
})
const queries = record(
  {
    owner: choose.owner,
    sessionId: choose.sessionId,
    status: choose.status,
    since: choose.at,
    scope: record<RunScope>(
      {
        runnables: subarray([...runnables]),
        registry: record({
          id: constantFrom('global', 'other'),
          kinds: subarray(['agent', 'team'] as const),
          except: subarray([...runnables])
        })
      },
      { requiredKeys: ['runnables'] }
    ),
    limit: integer({ min: 1, max: 4 })
  },
  { requiredKeys: ['owner', 'scope', 'limit'] }
)

type Position = Pick<StoredRun, 'updatedAt' | 'runId'>
type Head = Omit<StoredRun, 'result' | 'inputs'>

// What the record and what is listed of it both say.
const headOf = (run: Head) => ({ ...storedRun(run as StoredRun), ...DIFFERENT })
const DIFFERENT = {
  result: null,
  inputs: [],
  bytes: 0,
  preview: null,
  stats: null,
  queuePosition: null,
  waiting: null
}

/** The same the plain way. */
class Model {
  readonly #runs: StoredRun[] = []

  async apply({ runs, log }: Stores, change: Change): Promise<void> {
    const { how, which, runnable, owner, sessionId, status, at } = change
    const run = this.#runs[which % (this.#runs.length || 1)]
    if (how === 'create' || run === undefined) {
      const made = storedRun({ ...runnable, owner, sessionId, updatedAt: at })
      this.#runs.push({ ...made })
      await runs.create(made)
    } else if (how === 'remove') {
      this.#runs.splice(this.#runs.indexOf(run), 1)
      await runs.remove(run.runId)
    } else if (run.status !== 'failed') {
      Object.assign(run, { status, updatedAt: at })
      await log.append(run.runId, 1, [], { status, at })
    }
  }

  find({ owner, scope, sessionId, status, since = 0 }: ChangedRunQuery): StoredRun[] {
    return this.#runs
      .filter((run) => run.owner === owner && run.updatedAt >= since)
      .filter((run) => isIn(run, scope))
      .filter((run) => sessionId === undefined || run.sessionId === sessionId)
      .filter((run) => status === undefined || run.status === status)
      .sort(lastChangedFirst)
  }
}

function isIn(run: StoredRun, { runnables: some, registry }: RunScope): boolean {
  const isNamesake = ({ kind, name }: { kind: string; name: string }) =>
    kind === run.kind && name === run.name
  if (some.some((each) => each.registry === run.registry && isNamesake(each))) return true
  if (registry?.id !== run.registry) return false
  return registry.kinds.includes(run.kind) && !registry.except.some(isNamesake)
}

function lastChangedFirst(a: Position, b: Position): number {
  return b.updatedAt - a.updatedAt || (a.runId < b.runId ? 1 : a.runId > b.runId ? -1 : 0)
}

function checkPages(
  t: Test,
  make: () => Promise<Stores & { close(): Promise<void> }>,
  numRuns: number
): void {
  t.test('pages are those of a plain list, whatever happens between them', async () => {
    await assert(
      asyncProperty(
        array(changes, { minLength: 40, maxLength: 120, size: 'max' }),
        array(queries, { minLength: 1, maxLength: 5 }),
        async (all, asked) => {
          const store = await make()
          const model = new Model()
          // Half of it before, one after each page.
          const half = Math.ceil(all.length / 2)
          for (const change of all.slice(0, half)) await model.apply(store, change)
          const between = all.slice(half)
          for (const query of asked) {
            let last: Head | undefined
            for (let cursor: string | null | undefined; cursor !== null;) {
              const page = await store.runs.listChanged({ ...query, ...(cursor !== undefined && { cursor }) })
              const found = model.find(query)
              const rest = found.filter((run) => last === undefined || lastChangedFirst(last, run) < 0)
              deepEqual(page.runs.map(headOf), rest.slice(0, query.limit).map(headOf))
              equal(page.total, found.length)
              equal(page.nextCursor === null, rest.length <= query.limit)
              last = page.runs.at(-1)
              cursor = page.nextCursor
              const change = between.shift()
              if (change !== undefined) await model.apply(store, change)
            }
          }
          await store.close()
        }
      ),
      { numRuns }
    )
  })
}

t.test('in process', async (t) =>
  checkPages(t, async () => ({ ...createInProcessStores(), close: async () => {} }), 200)
)
await eachStore(t, async (t, open) => checkPages(t, open, 30))
