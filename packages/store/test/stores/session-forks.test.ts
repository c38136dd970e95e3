import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createInProcessStores, type SessionKey, type StoredMessage } from '@svc/registry'
import { createStore, type StoreOptions } from '@svc/store'
import t, { type Test } from 'tap'

const OPERATIONS = 150
const SEED = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31))
const keyOf = (sessionId: string): SessionKey => ({
  registry: 'global',
  kind: 'agent',
  name: 'echo',
  owner: 'ada',
  sessionId
})

/** A store in a file, and the numbers of rows of its tables. */
async function open(t: Test, options: StoreOptions = {}) {
  const file = join(t.testdir(), 'app.db')
  const store = await createStore({ url: `sqlite:${file}`, ...options })
  const count = (table: string) => {
    const database = new DatabaseSync(file, { readOnly: true })
    const [row] = database.prepare(`select count(*) as count from ${table}`).all()
    database.close()
    return row!['count']
  }
  const rows = () => ['session', 'session_message', 'session_branch', 'session_run'].map(count)
  return { store, rows }
}

// Park and Miller's generator.
function createRandom(seed: number): (below: number) => number {
  let state = (seed % 2_147_483_646) + 1
  return (below) => {
    state = (state * 48_271) % 2_147_483_647
    return state % below
  }
}

t.test(`random sessions, branches, forks and removals are as in memory; seed ${SEED}`, async (t) => {
  const random = createRandom(SEED)
  const { store, rows } = await open(t)
  const both = [store, createInProcessStores()] as const
  const same = async <T>(label: string, ask: (stores: (typeof both)[number]) => Promise<T>) => {
    const [stored, expected] = [await ask(both[0]), await ask(both[1])]
    t.same(stored, expected, label)
    return expected
  }
  const textOf = ({ message }: StoredMessage) => (message?.role === 'user' ? message.content : '')
  const read = async ({ sessionIndex }: (typeof both)[number], sessionId: string, branch?: string) => {
    const query = { limit: 1 + (sessionId.length % 4), ...(branch !== undefined && { branch }) }
    const [texts, branches]: unknown[][] = [[], []]
    for (let before: string | undefined; ;) {
      const page = await sessionIndex!.messages(keyOf(sessionId), { ...query, ...(before && { before }) })
      texts!.unshift(...page.messages.map(textOf))
      branches!.unshift(...page.branches)
      if (page.nextCursor === null) return { texts, branches }
      before = page.nextCursor
    }
  }
  const turns = new Map<string, string[]>([['s0', []]])
  const pick = <T>(from: readonly T[]) => from[random(from.length)]
  for (let at = 0; at < OPERATIONS; at++) {
    const sessionId = pick([...turns.keys()])!
    const known = turns.get(sessionId)!
    const what = random(10)
    const label = `${at}: ${what} ${sessionId}`
    if (what < 6 || known.length === 0) {
      const runId = `r${at}`
      const after = random(3) === 0 ? undefined : (pick(known) ?? null)
      const from = after === undefined ? undefined : { runId, after }
      const messages = Array.from({ length: 1 + random(3) }, (_, index) => ({
        role: 'user' as const,
        content: `${runId} ${index}`
      }))
      for (const { sessions } of both)
        await sessions.append(keyOf(sessionId), runId, messages, undefined, from)
      known.push(runId)
    } else if (what < 9) {
      const atTurn = random(2) === 0 ? undefined : pick(known)
      const made = await same(label, async ({ sessionIndex }) => {
        const fork = await sessionIndex!.fork(keyOf(sessionId), `s${at}`, atTurn)
        return { ...fork, createdAt: 0, updatedAt: 0 }
      })
      const texts = (await read(both[1], made.sessionId!)).texts as string[]
      turns.set(made.sessionId!, [...new Set(texts.map((text) => text.split(' ')[0]!))])
    } else {
      await same(label, async ({ sessions }) => sessions.remove(keyOf(sessionId)))
      turns.delete(sessionId)
      if (turns.size === 0) turns.set('s0', [])
      else if (sessionId === 's0') turns.set('s0', [])
    }
    const shown = pick([...turns.keys()])!
    await same(`${label}, then ${shown}`, async (stores) => read(stores, shown))
    const branch = pick(turns.get(shown)!)
    if (branch !== undefined) await same(`${label}, ${branch}`, async (stores) => read(stores, shown, branch))
  }
  for (const sessionId of turns.keys())
    await same(`last: ${sessionId}`, async ({ sessions }) => sessions.remove(keyOf(sessionId)))
  t.same(rows(), [0, 0, 0, 0], 'nothing is left')
  await store.close()
})

t.test('the retention of sessions leaves what forks reach', async (t) => {
  const { store, rows } = await open(t, { retention: { sessionMaxAge: 1_000 } })
  const { sessions, sessionIndex } = store
  const say = (sessionId: string, turnId: string) =>
    sessions.append(keyOf(sessionId), turnId, [{ role: 'user', content: turnId }])
  for (const turnId of ['a', 'b']) await say('s', turnId)
  const { updatedAt } = (await sessionIndex.find(keyOf('s')))!
  while (Date.now() <= updatedAt) await new Promise((resolve) => setImmediate(resolve))
  await sessionIndex.fork(keyOf('s'), 'f', 'a')
  const old = (await sessionIndex.find(keyOf('s')))!.updatedAt
  t.equal(await sessions.sweep(old + 1_000), 1)
  t.same(rows(), [1, 1, 1, 0])
  t.same(await sessions.load(keyOf('f'), 9), [{ role: 'user', content: 'a' }])
  t.equal(await sessions.sweep(Date.now() + 2_000), 1)
  t.same(rows(), [0, 0, 0, 0])
  await store.close()
})
