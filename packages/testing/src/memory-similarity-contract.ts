import type { MemoryItem, MemoryItemRetention, MemoryStore, SimilarQuery } from '@svc/contract'
import { HOSTILE_TEXT, withStore, type ContractTest, type MakeStore } from './contract-test.ts'

const MODEL = 'maker/small:3'
const item = (id: string, embedding: readonly number[], fields: Partial<MemoryItem> = {}): MemoryItem => ({
  id,
  owner: 'ada',
  namespace: 'echo',
  text: `text ${id}`,
  createdAt: 1,
  embedding,
  model: MODEL,
  ...fields
})

type SimilarityStore = MemoryStore & Required<Pick<MemoryStore, 'similar' | 'unembedded' | 'embed'>>

// Stores may have all of these methods or none.
function hasSimilarity(store: MemoryStore): store is SimilarityStore {
  return store.similar !== undefined && store.unembedded !== undefined && store.embed !== undefined
}

async function similarTo(store: SimilarityStore, embedding: number[], query: Partial<SimilarQuery> = {}) {
  const all = { embedding, model: MODEL, limit: 9, minScore: -1, ...query }
  return await store.similar('ada', 'echo', all)
}

const idsOf = async (items: Promise<MemoryItem[]> | MemoryItem[]) => (await items).map(({ id }) => id)

/** The contract of every `MemoryStore` that searches by similarity. */
export function memorySimilarityContract(t: ContractTest, make: MakeStore<MemoryStore>): void {
  const test = (name: string, run: (t: ContractTest, store: SimilarityStore) => Promise<void>) =>
    withStore(t, make, name, async (t, store) => {
      if (hasSimilarity(store)) await run(t, store)
    })

  test('finds the most similar embeddings of one model, best first', async (t, store) => {
    await store.put(item('1', [1, 0, 0]))
    await store.put(item('2', [1, 1, 0], { metadata: { a: 1 } }))
    await store.put(item('3', [0, 0, 1]))
    await store.put(item('4', [2, 0.1, 0]))
    await store.put(item('5', [1, 0, 0], { owner: 'bob' }))
    await store.put(item('6', [1, 0, 0], { namespace: 'other' }))
    await store.put(item('7', [1, 0, 0], { model: `${MODEL}4` }))
    const { model: _, ...unnamed } = item('8', [1, 0, 0])
    await store.put(unnamed)
    const found = await similarTo(store, [3, 0, 0])
    t.same(await idsOf(found), ['1', '4', '2', '3'])
    t.same(
      found.map(({ score }) => Math.round(score * 1_000)),
      [1_000, 999, 707, 0]
    )
    const { score: __, embedding: ___, ...second } = found[2]!
    const { embedding: ____, ...put } = item('2', [], { metadata: { a: 1 } })
    t.same(second, put, 'the item as it was put')
    t.same(await idsOf(similarTo(store, [3, 0, 0], { limit: 2 })), ['1', '4'])
    t.same(await idsOf(similarTo(store, [3, 0, 0], { minScore: 0.7 })), ['1', '4', '2'])
    t.same(await idsOf(similarTo(store, [3, 0, 0], { model: `${MODEL}4` })), ['7'])
    t.same(await similarTo(store, [3, 0, 0], { model: 'none' }), [])
    t.same(await store.similar('eve', 'echo', { embedding: [1], model: MODEL, limit: 9, minScore: -1 }), [])
  })

  test('follows every change after a search', async (t, store) => {
    await store.put(item('1', [1, 0, 0]))
    await store.put(item('2', [0, 1, 0]))
    const ids = () => idsOf(similarTo(store, [1, 0, 0], { minScore: 0.5 }))
    t.same(await ids(), ['1'])
    await store.put(item('3', [1, 0.1, 0]))
    t.same(await ids(), ['1', '3'])
    await store.put(item('1', [0, 0, 1]))
    t.same(await ids(), ['3'], 'a replaced item has its new embedding only')
    const { embedding: _, model: __, ...plain } = item('3', [])
    await store.put(plain)
    t.same(await ids(), [])
    await store.put(item('2', [1, 0, 0]))
    t.same(await ids(), ['2'])
    t.equal(await store.remove('ada', 'echo', '2'), true)
    t.same(await ids(), [])
  })

  test('finds the best of more items than it compares exactly', async (t, store) => {
    const vectors = makeVectors(200, 16)
    const model = 'm:16'
    for (const [index, vector] of vectors.entries()) await store.put(item(`${index}`, vector, { model }))
    let found = 0
    for (const vector of vectors.slice(0, 20)) {
      const best = [...vectors.keys()].sort((a, b) => dot(vectors[b]!, vector) - dot(vectors[a]!, vector))
      const ids = await idsOf(similarTo(store, vector, { model, limit: 5 }))
      t.equal(ids[0], `${best[0]}`)
      found += best.slice(0, 5).filter((index) => ids.includes(`${index}`)).length
    }
    t.ok(found >= 98, `${found} of 100`)
  })

  test('stores an embedding that cannot be compared as none', async (t, store) => {
    const bad = [[], [0, 0, 0], [1, NaN, 0], [1, Infinity, 0], [1, 1e39, 0]]
    await store.put(item('good', [1, 0, 0]))
    for (const [index, embedding] of bad.entries()) {
      await store.put(item(`${index}`, embedding))
      t.same(await similarTo(store, embedding), [], 'as a query it finds nothing')
    }
    t.same(await idsOf(similarTo(store, [1, 0, 0])), ['good'])
    const listed = await store.list('ada', 'echo', 9)
    t.same(
      listed.filter(({ embedding }) => embedding !== undefined).map(({ id }) => id),
      ['good']
    )
    t.same(await store.unembedded('ada', 'echo', MODEL, 9), [], 'they are not embedded again and again')
    t.equal((await store.search('ada', 'echo', 'text', 9)).length, 6)
    await store.put(item('short', [1, 0]))
    t.ok((await idsOf(similarTo(store, [1, 0, 0], { minScore: 0.5 }))).includes('good'))
  })

  test('lists what another model has embedded, or none, oldest first', async (t, store) => {
    const { embedding: _, model: __, ...plain } = item('none', [])
    for (const id of ['1', '2', '3', '4']) await store.put(item(id, [1, 0], { model: 'a/old:2' }))
    await store.put(plain)
    await store.put(item('z', [1, 0], { model: 'z/older:2' }))
    await store.put(item('new', [1, 0, 0]))
    await store.put(item('bob', [1, 0], { owner: 'bob', model: 'a/old:2' }))
    const all = await idsOf(store.unembedded('ada', 'echo', MODEL, 9))
    t.same([...all].sort(), ['1', '2', '3', '4', 'none', 'z'])
    t.same(
      all.filter((id) => id < '9'),
      ['1', '2', '3', '4']
    )
    t.equal((await store.unembedded('ada', 'echo', MODEL, 3)).length, 3)
    t.same(await store.unembedded('eve', 'echo', MODEL, 9), [])
    const [first] = await store.unembedded('bob', 'echo', MODEL, 9)
    t.same(first, {
      id: 'bob',
      owner: 'bob',
      namespace: 'echo',
      text: 'text bob',
      createdAt: 1,
      model: 'a/old:2'
    })
  })

  test('embeds an item again, unless its text has changed', async (t, store) => {
    await store.put(item('1', [1, 0], { model: 'old:2', createdAt: 5 }))
    await store.put(item('2', [1, 0, 0], { createdAt: 9 }))
    const ids = () => idsOf(similarTo(store, [0, 1, 0], { minScore: 0.5 }))
    t.same(await ids(), [])
    const again = {
      id: '1',
      owner: 'ada',
      namespace: 'echo',
      text: 'text 1',
      embedding: [0, 1, 0],
      model: MODEL
    }
    for (const other of [{ text: 'other' }, { id: '3' }, { owner: 'bob' }, { namespace: 'other' }])
      t.equal(await store.embed({ ...again, ...other }), false)
    t.same(await ids(), [])
    t.equal(await store.embed(again), true)
    t.same(await ids(), ['1'])
    t.same(await store.unembedded('ada', 'echo', MODEL, 9), [])
    t.same((await store.list('ada', 'echo', 9))[1], item('1', [0, 1, 0], { createdAt: 5 }))
    t.same(await similarTo(store, [1, 0], { model: 'old:2' }), [], 'the old embedding is gone')
    t.equal(await store.embed({ ...again, embedding: [NaN] }), true)
    t.same(await ids(), [])
    t.same(await store.unembedded('ada', 'echo', MODEL, 9), [])
    t.equal((await store.search('ada', 'echo', 'text', 9)).length, 2)
  })

  test('keeps every name of a model', async (t, store) => {
    const model = `${HOSTILE_TEXT}'"%:3`
    await store.put(item('1', [1, 0, 0], { model }))
    t.same(await idsOf(similarTo(store, [1, 0, 0], { model })), ['1'])
    t.same(await store.unembedded('ada', 'echo', model, 9), [])
    t.equal((await store.list('ada', 'echo', 9))[0]?.model, model)
  })

  test('finds nothing of what a session or an owner had', async (t, store) => {
    const find = (owner: string) =>
      idsOf(store.similar(owner, 'echo', { embedding: [1, 0, 0], model: MODEL, limit: 9, minScore: -1 }))
    for (const owner of ['ada', 'bob'])
      for (const id of ['1', '2', '3'])
        await store.put(
          item(id, [1, 0, 0], { owner, metadata: { sessionId: `s${id}` }, createdAt: Number(id) })
        )
    t.same(await find('ada'), ['3', '2', '1'], 'newer ones win ties')
    t.equal(await store.removeSession('ada', 's2', () => true), 1)
    t.same(await find('ada'), ['3', '1'])
    t.equal(await store.removeOwner('ada', 9), 2)
    t.same(await find('ada'), [])
    t.same(await find('bob'), ['3', '2', '1'])
  })
}

/** The contract of the retention of every `MemoryStore` that searches by similarity. */
export function similarityRetentionContract(
  t: ContractTest,
  make: (retention: Partial<MemoryItemRetention>) => ReturnType<MakeStore<MemoryStore>>
): void {
  const limited = () => make({ memoryMaxItems: 3, memoryMaxAge: 1_000 })
  withStore(t, limited, 'finds nothing by similarity that was not retained', async (t, store) => {
    if (!hasSimilarity(store)) return
    const ids = async () => (await idsOf(similarTo(store, [1, 0, 0]))).sort()
    await store.put(item('1', [1, 0, 0], { createdAt: 1_000 }))
    t.same(await ids(), ['1'])
    for (const id of ['2', '3', '4']) await store.put(item(id, [1, 0, 0], { createdAt: 1_000 * Number(id) }))
    t.same(await ids(), ['2', '3', '4'], 'the oldest had to go')
    t.equal(await store.sweep(4_500), 2)
    t.same(await ids(), ['4'])
  })
}

function dot(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, at) => sum + value * b[at]!, 0)
}

// Of the same length, so that products rank as cosines do; by Park and Miller's generator.
function makeVectors(count: number, dimensions: number): number[][] {
  let state = 1
  const next = () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647 - 0.5
  return Array.from({ length: count }, () => {
    const vector = Array.from({ length: dimensions }, next)
    const length = Math.hypot(...vector)
    return vector.map((value) => Math.fround(value / length))
  })
}
