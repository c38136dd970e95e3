import { join } from 'node:path'
import { createInProcessStores, type MemoryItem, type MemoryStore } from '@svc/registry'
import { codeOfEmbedding } from '@svc/contract/stores'
import { createStore } from '@svc/store'
import t from 'tap'
import { sweepMemories } from '../../src/maintenance/sweep-memories.ts'
import { openSqlite } from '../../src/sqlite/open-sqlite.ts'
import { createMemoryStore } from '../../src/stores/memory-store.ts'

t.setTimeout(120_000)

const DIMENSIONS = 6
const SEED = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31))

// Park and Miller's generator.
function createRandom(seed: number): (below: number) => number {
  let state = (seed % 2_147_483_646) + 1
  return (below) => {
    state = (state * 48_271) % 2_147_483_647
    return state % below
  }
}

const modelOf = (n: number) => `m${n}:${DIMENSIONS}`
const same = async <T>(call: () => T) => [await call()]

async function idsOf(memory: MemoryStore, owner: string, embedding: number[], model: string) {
  const found = await memory.similar!(owner, 'n', { embedding, model, limit: 8, minScore: -1 })
  return found.map(({ id, score }) => `${id} ${score.toFixed(4)}`)
}

for (const cacheBytes of [0, 5_000, undefined])
  t.test(`finds what the store in memory finds, with ${cacheBytes} bytes; seed ${SEED}`, async (t) => {
    const random = createRandom(SEED)
    const pick = <T>(list: readonly T[]) => list[random(list.length)]!
    const embed = () => Array.from({ length: DIMENSIONS }, () => random(2_001) - 1_000)
    const retention = { memoryMaxItems: 15, memoryMaxAge: 1_000 }
    const file = join(t.testdir(), 'app.db')
    const open = () =>
      createStore({
        url: `sqlite:${file}`,
        retention,
        ...(cacheBytes !== undefined && { vectors: { cacheBytes } })
      })
    let store = await open()
    t.teardown(() => store.close())
    const { memory: model } = createInProcessStores(retention)
    let now = 0
    const both = async (call: (memory: MemoryStore) => unknown) => {
      const [expected, actual] = await Promise.all([same(() => call(model)), same(() => call(store.memory))])
      t.same(actual, expected)
    }
    for (let n = 0; n < 150; n++) {
      const [owner, id, name] = [pick(['ada', 'bob', 'eve']), `${random(25)}`, modelOf(random(2))]
      const [metadata, until] = [{ sessionId: pick(['s', 't']) }, 700 + random(300)]
      const item: MemoryItem = { id, owner, namespace: 'n', text: `text ${id}`, createdAt: ++now }
      const embedded = { ...item, embedding: embed(), model: name }
      // A search that is still in progress when something changes.
      const early = random(3) === 0 ? idsOf(store.memory, owner, embed(), name) : undefined
      const what = random(40)
      if (what < 24) await both((memory) => memory.put({ ...embedded, metadata }))
      else if (what < 28) await both((memory) => memory.put(item))
      else if (what < 32) await both((memory) => memory.remove(owner, 'n', id))
      else if (what < 36) await both((memory) => memory.embed!(embedded))
      else if (what === 36) await both((memory) => memory.removeSession(owner, 's', () => true))
      else if (what === 37) await both((memory) => memory.removeOwner(owner, 99))
      else if (what === 38) await both((memory) => memory.sweep(now + until))
      else {
        await early
        await store.close()
        store = await open()
      }
      const [query, asked] = [embed(), modelOf(random(2))]
      await both((memory) => idsOf(memory, owner, query, asked))
      await early
    }
  })

t.test('what is written during the first search is found by the second', async (t) => {
  const file = join(t.testdir(), 'app.db')
  const options = { url: `sqlite:${file}` }
  const item = (n: number): MemoryItem => ({
    id: `${n}`,
    owner: 'ada',
    namespace: 'n',
    text: '-',
    createdAt: n,
    embedding: [1, n],
    model: 'm:2'
  })
  const first = await createStore(options)
  for (let n = 0; n < 2_500; n += 500)
    await Promise.all(Array.from({ length: 500 }, async (_, index) => first.memory.put(item(n + index))))
  await first.close()
  const { memory, close } = await createStore(options)
  t.teardown(close)
  const find = async (n: number) => (await idsOf(memory, 'ada', [1, n], 'm:2'))[0]
  const searching = Promise.all([find(0), find(0)])
  for (const n of [0, 2_499, 1_200]) t.equal(await memory.remove('ada', 'n', `${n}`), true)
  await memory.put({ ...item(1), embedding: [-1, 0] })
  await memory.put({ ...item(3_000), embedding: [0.1, -1] })
  for (const found of await searching) t.match(found, /^[012] /)
  t.equal(await find(0), '2 0.4472')
  t.equal((await idsOf(memory, 'ada', [-1, 0], 'm:2'))[0], '1 1.0000')
  t.equal((await idsOf(memory, 'ada', [0.1, -1], 'm:2'))[0], '3000 1.0000')
})

t.test('no code of a removed item stays in memory', async (t) => {
  const backend = await openSqlite({
    kind: 'sqlite',
    path: ':memory:',
    durability: 'normal',
    secureDelete: false,
    codeBytes: 1_000_000
  })
  t.teardown(() => backend.close())
  const { db, commit, codes } = backend
  const retention = { memoryMaxItems: 3, memoryMaxAge: 1_000 }
  const memory = createMemoryStore({
    db,
    commit,
    codes,
    retention,
    skipDamaged: () => undefined,
    sweep: (now) => sweepMemories(commit, codes, retention, now)
  })
  const put = async (id: string, createdAt = 5_000) =>
    memory.put({
      id,
      owner: 'ada',
      namespace: 'n',
      text: id,
      createdAt,
      metadata: { sessionId: `s${id}` },
      embedding: [1, 2],
      model: 'm:2'
    })
  const kept = async () => (await codes.nearest(1, 'm:2', codeOfEmbedding([1, 2])!, 99)).length
  for (const id of ['1', '2', '3']) await put(id)
  t.equal(await kept(), 3)
  await put('3')
  t.equal(await kept(), 3, 'replaced')
  await put('4')
  t.equal(await kept(), 3, 'one more than are retained')
  await memory.remove('ada', 'n', '4')
  t.equal(await kept(), 2, 'removed')
  await memory.removeSession('ada', 's3', () => true)
  t.equal(await kept(), 1, 'of a session')
  await put('old', 1_000)
  t.equal(await memory.sweep(2_000), 1)
  t.equal(await kept(), 1, 'expired')
  await memory.embed!({
    id: '2',
    owner: 'ada',
    namespace: 'n',
    text: '2',
    embedding: [1, 2],
    model: 'other:2'
  })
  t.equal(await kept(), 0, 'embedded again')
  await put('5')
  t.equal(await kept(), 1)
  await memory.removeOwner('ada', 9)
  t.equal(await kept(), 0, 'of an owner')
})
