import { createInProcessStores, type MemoryItem, type MemoryStore } from '@svc/registry'
import { recallMemory, type EmbeddingModel, type Memory } from '@svc/runtime'
import t from 'tap'
import { settleMemories } from '../../src/memory/run-memory.ts'
import { memoryContext } from '../helpers/memory-context.ts'

const TOPICS = ['puppy dog', 'cello music', 'bread food']
type Embed = (text: string) => number[]

/** Each topic is one dimension; the others are not quite zero. */
const byTopic: Embed = (text) =>
  TOPICS.map((words) => (words.split(' ').some((word) => text.includes(word)) ? 1 : 0.01))
const modelOf = (modelId: string, embed: Embed): EmbeddingModel => ({
  provider: 'maker.embedding',
  modelId,
  maxEmbeddingsPerCall: 30,
  doEmbed: async ({ values }) => ({ embeddings: values.map(embed) })
})
const small = modelOf('small', byTopic)
const large = modelOf('large', (text) => [...byTopic(text), 0.01, 0.01])

const memoryOf = (embedding: EmbeddingModel) =>
  recallMemory({ embedding, extract: ({ input }) => [input], minSimilarity: 0.9 })

/** Stores a turn and awaits all that follows in the background. */
async function store(memory: Memory, context: ReturnType<typeof memoryContext>['memory'], input: string) {
  await memory.store(context, { input, text: '' })
  await settleMemories(30_000)
}

const linesOf = (text: string | undefined) => (text ?? '').split('\n- ').slice(1)
const listOf = async (items: MemoryStore) => await items.list('ann', 'tester', 1_000)

t.test('items name the model of their embeddings, and recalls are reported', async (t) => {
  const { memory: items } = createInProcessStores()
  const { memory: context, bus } = memoryContext(items)
  const recalled: unknown[] = []
  bus.on('memory.recalled', (payload) => recalled.push(payload))
  const memory = memoryOf(small)
  await store(memory, context, 'Ann has a puppy.')
  t.match(await listOf(items), [{ model: 'maker/small:3' }])
  t.strictSame(linesOf(await memory.retrieve(context, 'Which dog is it?')), ['Ann has a puppy.'])
  await memory.retrieve(context, 'Any music?')
  t.match(recalled, [
    { sessionId: context.sessionId, name: 'tester', items: 1, durationMs: Number },
    { items: 0, durationMs: Number }
  ])
})

t.test('after a change of the model, each turn embeds 100 older items again', async (t) => {
  const { memory: items } = createInProcessStores()
  const { memory: context, bus, logged } = memoryContext(items)
  const reembedded: { count: number; left: number }[] = []
  bus.on('memory.reembedded', ({ count, left }) => reembedded.push({ count, left }))
  const old = memoryOf(small)
  await store(old, context, 'Ann has a puppy.')
  for (let n = 1; n < 250; n++) await store(old, context, `Ann ate bread number ${n}.`)
  t.strictSame(reembedded, [])
  const memory = memoryOf(large)
  const ask = async (question: string) => linesOf(await memory.retrieve(context, question))
  t.strictSame(await ask('Which dog is it?'), [], 'the old embeddings cannot be compared')
  t.strictSame(await ask('Which puppy?'), ['Ann has a puppy.'], 'words find them')
  for (let n = 1; n <= 4; n++) await store(memory, context, `Ann plays the cello ${n}.`)
  t.strictSame(reembedded, [
    { count: 100, left: 150 },
    { count: 100, left: 50 },
    { count: 50, left: 0 }
  ])
  t.strictSame(await ask('Which dog is it?'), ['Ann has a puppy.'])
  t.ok((await listOf(items)).every(({ model }) => model === 'maker/large:5'))
  const warnings = logged.filter(({ level }) => level === 'warn')
  t.match(warnings, [{ details: { namespace: 'tester' }, message: /embedded again/ }])
})

t.test('a renewal that fails or never ends is logged, and the turn is stored', async (t) => {
  const failing = modelOf('large', byTopic)
  let calls = 0
  const doEmbed: EmbeddingModel['doEmbed'] = async ({ values, abortSignal }) => {
    if (++calls % 2 === 1) return { embeddings: values.map(byTopic) }
    if (calls === 2) throw Object.assign(new Error('SECRET'), { statusCode: 400 })
    return await new Promise((_, reject) => {
      abortSignal!.addEventListener('abort', () => reject(abortSignal!.reason as Error))
    })
  }
  const { memory: items } = createInProcessStores()
  const ending = new AbortController()
  const { memory: context, logged } = memoryContext(items, { signal: ending.signal })
  await store(memoryOf(small), context, 'Ann has a puppy.')
  const memory = memoryOf({ ...failing, doEmbed })
  await store(memory, context, 'Ann bakes bread.')
  await memory.store(context, { input: 'Ann plays the cello.', text: '' })
  ending.abort(new Error('over'))
  await settleMemories(30_000)
  t.equal((await listOf(items)).length, 3)
  const failed = logged.filter(({ message }) => message?.includes('could not be embedded again'))
  t.equal(failed.length, 2)
  t.notMatch(JSON.stringify(logged), 'SECRET')
})

t.test('a store that does not search by similarity is searched here', async (t) => {
  const { similar, unembedded, embed, ...items } = createInProcessStores().memory
  t.ok(similar && unembedded && embed)
  const { memory: context, logged } = memoryContext(items)
  const memory = memoryOf(small)
  for (const fact of ['Ann has a puppy.', 'Ann bakes bread.']) await store(memory, context, fact)
  t.strictSame(linesOf(await memory.retrieve(context, 'Which dog is it?')), ['Ann has a puppy.'])
  await store(memoryOf(large), context, 'Ann plays the cello.')
  t.strictSame(logged, [])
})

t.test('embeddings that cannot be compared are harmless', async (t) => {
  const bad: [string, number[]][] = [
    ['NaN', [NaN, 1, 1]],
    ['zero', [0, 0, 0]],
    ['empty', []],
    ['shorter', [1, 1]],
    ['infinite', [Infinity, 0, 1]],
    ['too large for single precision', [1e300, 0, 1]]
  ]
  for (const [name, embedding] of bad)
    await t.test(name, async (t) => {
      const { memory: items } = createInProcessStores()
      const { memory: context } = memoryContext(items)
      let isBad = false
      const memory = memoryOf(modelOf('small', (text) => (isBad ? embedding : byTopic(text))))
      const ask = async (question: string) => linesOf(await memory.retrieve(context, question))
      await store(memory, context, 'Ann has a puppy.')
      isBad = true
      t.strictSame(await ask('Which dog is it?'), [], 'as a question it finds nothing')
      t.strictSame(await ask('Which puppy?'), ['Ann has a puppy.'], 'but words do')
      await store(memory, context, 'Ann bakes bread.')
      isBad = false
      for (const fact of ['Ann plays the cello.', 'Ann hears music.']) await store(memory, context, fact)
      t.strictSame(await ask('Which dog is it?'), ['Ann has a puppy.'])
      t.strictSame(await ask('What about bread?'), ['Ann bakes bread.'])
    })
})

t.test('a text that the model cannot embed is tried once, and holds up no others', async (t) => {
  const { memory: items } = createInProcessStores()
  const { memory: context } = memoryContext(items)
  const asked: string[] = []
  const put = (fields: Partial<MemoryItem>) =>
    items.put({ id: '1', owner: 'ann', namespace: 'tester', text: 'odd', createdAt: 1, ...fields })
  await put({})
  await put({ id: '2', text: 'Ann has a puppy.' })
  const memory = memoryOf(
    modelOf('small', (text) => {
      asked.push(text)
      return text === 'odd' ? [0, 0, 0] : byTopic(text)
    })
  )
  for (const fact of ['Ann bakes bread.', 'Ann plays the cello.']) await store(memory, context, fact)
  t.equal(asked.filter((text) => text === 'odd').length, 1)
  t.strictSame(linesOf(await memory.retrieve(context, 'Which dog is it?')), ['Ann has a puppy.'])
  t.strictSame(linesOf(await memory.retrieve(context, 'odd')), ['odd'])
})

t.test(
  'a change of the model under load: no recall fails, and words find everything meanwhile',
  async (t) => {
    const { memory: items } = createInProcessStores()
    const { memory: context, logged } = memoryContext(items)
    const old = memoryOf(small)
    for (let n = 0; n < 400; n++) await old.store(context, { input: `Ann saw puppy number${n}.`, text: '' })
    const memory = memoryOf(large)
    const asks = Array.from({ length: 400 }, async (_, n) => {
      if (n % 4 === 0) await memory.store(context, { input: `Ann played cello piece${n}.`, text: '' })
      return linesOf(await memory.retrieve(context, `Who saw number${n}?`))
    })
    for (const [n, lines] of (await Promise.all(asks)).entries())
      if (!lines.includes(`Ann saw puppy number${n}.`)) t.fail(`number${n}: ${lines.join()}`)
    for (let n = 0; n < 6; n++) await store(memory, context, `Ann baked bread loaf${n}.`)
    t.strictSame(await items.unembedded!('ann', 'tester', 'maker/large:5', 9), [])
    t.equal(logged.length, 1, 'one warning')
  }
)
