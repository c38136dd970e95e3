import type { MemoryItem, MemoryItemRetention, MemoryStore } from '@svc/contract'
import { memorySimilarityContract, similarityRetentionContract } from './memory-similarity-contract.ts'
import { HOSTILE_TEXT, withStore, type ContractTest, type MakeStore } from './contract-test.ts'

const item = (id: string, text: string, createdAt: number): MemoryItem => ({
  id,
  owner: 'ada',
  namespace: 'echo',
  text,
  createdAt
})

/** The contract of every `MemoryStore`. */
export function memoryStoreContract(t: ContractTest, make: MakeStore<MemoryStore>): void {
  withStore(t, make, 'searches by words, best match first', async (t, store) => {
    await store.put(item('1', 'The blue fox', 1))
    await store.put(item('2', 'A BLUE fox in the snow', 2))
    await store.put(item('3', 'Nothing of it: foxes, bluer', 3))
    await store.put({ ...item('4', 'blue fox', 4), owner: 'bob' })
    await store.put({ ...item('5', 'blue fox', 5), namespace: 'other' })
    const ids = async (query: string, limit = 9) =>
      (await store.search('ada', 'echo', query, limit)).map(({ id }) => id)
    t.same(await ids('snow fox'), ['2', '1'])
    t.same(await ids('snow fox', 1), ['2'])
    t.same(await ids('%'), [])
    t.same(await ids('wolf'), [])
  })

  withStore(t, make, 'replaces items, lists the newest first, and removes them', async (t, store) => {
    const full = { ...item('1', 'new', 7), metadata: { constructor: 'x' }, embedding: [0.5, -1] }
    await store.put(item('1', 'old', 1))
    await store.put(full)
    await store.put(item('2', 'other', 2))
    t.same(await store.list('ada', 'echo', 9), [full, item('2', 'other', 2)])
    t.equal((await store.list('ada', 'echo', 1)).length, 1)
    t.same(await store.search('ada', 'echo', 'old', 9), [])
    t.equal(await store.remove('bob', 'echo', '1'), false)
    t.equal(await store.remove('ada', 'echo', '1'), true)
    t.equal(await store.remove('ada', 'echo', '1'), false)
  })

  withStore(
    t,
    make,
    'keeps every text unchanged, and finds words after a null character',
    async (t, store) => {
      const [owner, namespace, id] = [HOSTILE_TEXT, `n${HOSTILE_TEXT}`, `i${HOSTILE_TEXT}`]
      const text = `before\u0000after ${HOSTILE_TEXT} last`
      const kept = { id, owner, namespace, text, metadata: { [HOSTILE_TEXT]: HOSTILE_TEXT }, createdAt: 1 }
      await store.put(kept)
      await store.put({ ...item('x', 'after', 2), owner: 'a' })
      t.same(await store.list(owner, namespace, 9), [kept])
      for (const query of ['before', 'after', 'last', 'x\u0000after'])
        t.same(
          (await store.search(owner, namespace, query, 9)).map((found) => found.text),
          [text],
          query
        )
      t.same(await store.search('a\u0000', 'echo', 'after', 9), [])
      t.equal(await store.remove(owner, namespace, 'i'), false)
      t.equal(await store.remove(owner, namespace, id), true)
    }
  )

  withStore(t, make, 'rare words count more than frequent ones', async (t, store) => {
    await store.put(item('old', 'the hamster of Ada', 0))
    for (let n = 0; n < 300; n++) await store.put(item(`${n}`, `the cage of person${n} is clean`, n + 1))
    const found = await store.search('ada', 'echo', 'which clean cage has the hamster', 3)
    t.same(
      found.map(({ id }) => id),
      ['old', '299', '298']
    )
    t.ok(found[0]!.score > found[1]!.score)
    t.equal((await store.search('ada', 'echo', 'x'.repeat(100), 3)).length, 0)
  })

  withStore(t, make, 'finds texts of many words, also with long queries', async (t, store) => {
    const words = Array.from({ length: 200 }, (_, n) => `word${n}`)
    await store.put(item('1', words.join(' '), 1))
    for (const word of ['word0', 'word64', 'word136', 'word199'])
      t.equal((await store.search('ada', 'echo', word, 9)).length, 1, word)
    t.equal((await store.search('ada', 'echo', words.join(' '), 9)).length, 1)
    t.equal(await store.remove('ada', 'echo', '1'), true)
    t.same(await store.search('ada', 'echo', 'word0', 9), [])
  })

  memorySimilarityContract(t, make)
}

/** The contract of the retention of every `MemoryStore`. */
export function memoryRetentionContract(
  t: ContractTest,
  make: (retention: Partial<MemoryItemRetention>) => ReturnType<MakeStore<MemoryStore>>
): void {
  const limited = () => make({ memoryMaxItems: 3, memoryMaxAge: 1_000 })

  withStore(
    t,
    limited,
    'keeps the newest items of each owner and namespace, up to the limit',
    async (t, store) => {
      const ids = async (owner: string, namespace: string) =>
        (await store.list(owner, namespace, 9)).map(({ id }) => id)
      for (const [n, createdAt] of [5, 1, 7, 6].entries())
        await store.put(item(`${n}`, `text ${n}`, createdAt))
      t.same(await ids('ada', 'echo'), ['2', '3', '0'])
      await store.put(item('0', 'text again', 8))
      t.same(await ids('ada', 'echo'), ['0', '2', '3'], 'a replaced item does not count twice')
      for (let n = 0; n < 4; n++) await store.put({ ...item(`${n}`, 'x', n), namespace: 'other' })
      await store.put({ ...item('4', 'text', 4), owner: 'bob' })
      t.same(await ids('ada', 'other'), ['3', '2', '1'])
      t.same(await ids('ada', 'echo'), ['0', '2', '3'], 'other namespaces do not count')
      t.same(await ids('bob', 'echo'), ['4'])
      t.equal((await store.search('ada', 'other', 'x', 9)).length, 3)
    }
  )

  withStore(t, limited, 'sweeps items past their maximum age', async (t, store) => {
    await store.put(item('1', 'old text', 1_000))
    await store.put(item('2', 'new text', 2_000))
    await store.put({ ...item('3', 'old text', 1_000), owner: 'bob' })
    t.equal(await store.sweep(1_999), 0)
    t.equal(await store.sweep(2_000), 2)
    t.equal(await store.sweep(2_000), 0)
    t.same(await store.search('ada', 'echo', 'old', 9), [])
    t.same(await store.list('bob', 'echo', 9), [])
    t.equal((await store.list('ada', 'echo', 9)).length, 1)
    await store.put({ ...item('4', 'text', 2_000), owner: 'bob' })
    t.equal(
      (await store.search('bob', 'echo', 'text', 9)).length,
      1,
      'an emptied namespace can be used again'
    )
  })

  withStore(
    t,
    () => make({ memoryMaxAge: 0 }),
    'keeps items without limit if the maximum age is 0',
    async (t, store) => {
      await store.put(item('1', 'text', 0))
      t.equal(await store.sweep(Number.MAX_SAFE_INTEGER), 0)
      t.equal((await store.list('ada', 'echo', 9)).length, 1)
    }
  )

  similarityRetentionContract(t, make)
}
