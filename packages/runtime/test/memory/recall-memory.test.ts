import { createInProcessStores, type MemoryStore } from '@svc/registry'
import { extractFacts, recallMemory, type EmbeddingModel, type MemoryContext } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import t from 'tap'
import { distractor, LABELLED } from '../fixtures/recall-set.ts'
import { makeContext } from '../helpers/make-agent.ts'
import { memoryContext } from '../helpers/memory-context.ts'

const contextOf = (items: MemoryStore, more: Partial<MemoryContext> = {}) => memoryContext(items, more).memory
const linesOf = (text: string | undefined) => (text ?? '').split('\n- ').slice(1)

t.test('a fact is recalled by its subject in another session', async (t) => {
  const { memory: items } = createInProcessStores()
  const memory = recallMemory()
  await memory.store(contextOf(items), { input: 'My dog is called Rex.', text: 'Hello Rex.' })
  await memory.store(contextOf(items), { input: 'I like jazz.', text: 'Me too.' })
  const text = await memory.retrieve(contextOf(items), 'How old are dogs of that name?')
  t.strictSame(linesOf(text), ['User: My dog is called Rex.\nAssistant: Hello Rex.'])
  t.equal(await memory.retrieve(contextOf(items), 'What is the capital of France?'), undefined)
  t.equal(await memory.retrieve(contextOf(items), 'What is it?'), undefined, 'words that say nothing')
})

t.test('owners and agents are separate', async (t) => {
  const { memory: items } = createInProcessStores()
  const memory = recallMemory()
  await memory.store(contextOf(items), { input: 'My dog is Rex.', text: 'ok' })
  for (const other of [{ owner: 'bob' }, { namespace: 'other' }, { owner: '' }, { owner: 'ann ' }])
    t.equal(await memory.retrieve(contextOf(items, other), 'dog Rex'), undefined)
})

t.test('stored items are bounded', async (t) => {
  const { memory: items } = createInProcessStores()
  const facts = Array.from({ length: 30 }, (_, n) => `fact ${n} ${'x'.repeat(n === 0 ? 10_000 : 1)}`)
  const memory = recallMemory({ extract: () => [...facts, ' '], limit: 3, maxCharacters: 40 })
  const ids = await memory.store(contextOf(items), { input: 'a', text: 'b' })
  t.equal(ids.length, 20)
  const kept = items.list('ann', 'tester', 100) as { text: string }[]
  t.ok(kept.every(({ text }) => text.length <= 4_000))
  t.ok(linesOf(await memory.retrieve(contextOf(items), 'fact 7')).length <= 3)
  const bad: [object, RegExp][] = [
    [{ limit: 0 }, /recallMemory: limit/],
    [{ limt: 3 }, /recallMemory: limt:/],
    [{ extract: 'x' }, /recallMemory: extract/],
    [{ embedding: 'x' }, /recallMemory: embedding: not an embedding model/],
    [{ embedding: scriptedModel('x') }, /recallMemory: embedding: not an embedding model/],
    [{ maxCompared: 500 }, /recallMemory: maxCompared/],
    [{ minSimilarity: 2 }, /recallMemory: minSimilarity/]
  ]
  for (const [options, message] of bad)
    t.throws(() => recallMemory(options), { code: 'RUN_ERR_BAD_AGENT', message }, JSON.stringify(options))
  class Embedding {
    readonly modelId = 'of a class'
    readonly maxEmbeddingsPerCall = 1
    async doEmbed() {
      return { embeddings: [[1]] }
    }
  }
  t.ok(recallMemory({ embedding: new Embedding() }), 'methods of a class count')
})

t.test('a repeated fact is one item', async (t) => {
  const { memory: items } = createInProcessStores()
  const memory = recallMemory({ extract: () => ['Ann has a dog.'] })
  for (let i = 0; i < 3; i++) await memory.store(contextOf(items), { input: 'a', text: 'b' })
  t.equal((items.list('ann', 'tester', 10) as unknown[]).length, 1)
})

t.test('across 10,000 sessions the right fact ranks first', { timeout: 120_000 }, async (t) => {
  const { memory: items } = createInProcessStores({ memoryMaxItems: 20_000 })
  const memory = recallMemory()
  const every = Math.floor(10_000 / LABELLED.length)
  for (let n = 0; n < 10_000; n++) {
    const fact = n % every === 0 ? LABELLED[n / every] : undefined
    const turn = fact === undefined ? distractor(n) : { input: fact[0], text: fact[1] }
    await memory.store(contextOf(items, { sessionId: `s${n}`, runId: `r${n}` }), turn)
  }
  for (const [said, , asks] of LABELLED) {
    const [first = 'nothing'] = linesOf(await memory.retrieve(contextOf(items), asks))
    t.match(first, said, asks)
  }
})

t.test('a rare word scores higher than a common one', async (t) => {
  const { memory: items } = createInProcessStores()
  const put = (id: string, text: string, createdAt: number) =>
    items.put({ id, owner: 'ann', namespace: 'tester', text, createdAt })
  await put('old', 'The hamster of Ann is Pip.', 1)
  for (let n = 0; n < 500; n++) await put(`${n}`, `The cage of person ${n}.`, 2 + n)
  const text = await recallMemory().retrieve(contextOf(items), 'Which cage has my hamster?')
  t.match(linesOf(text)[0], 'Pip')
})

const topics = ['dog puppy pet', 'music jazz cello', 'food bread']
/** Each topic is one dimension. */
const embedding = (values: string[][] = []): EmbeddingModel => ({
  modelId: 'topics',
  maxEmbeddingsPerCall: 2,
  doEmbed: async (options) => {
    values.push(options.values)
    const of = (text: string) =>
      topics.map((words) => (words.split(' ').some((word) => text.includes(word)) ? 1 : 0.01))
    return { embeddings: options.values.map(of) }
  }
})

t.test('with embeddings, similar items are recalled without a shared word', async (t) => {
  const { memory: items } = createInProcessStores()
  const values: string[][] = []
  const memory = recallMemory({
    embedding: embedding(values),
    extract: () => ['Ann has a puppy.', 'Ann plays the cello.', 'Ann bakes bread.']
  })
  await memory.store(contextOf(items), { input: 'a', text: 'b' })
  t.strictSame(
    values.map(({ length }) => length),
    [2, 1],
    'as many at once as the model takes'
  )
  t.strictSame(linesOf(await memory.retrieve(contextOf(items), 'Which pet is there?')), ['Ann has a puppy.'])
})

t.test('a model extracts the facts', async (t) => {
  const { context } = makeContext()
  const turn = { input: 'I moved to Ghent. My key is 1234.', text: 'ok' }
  const of = (answer: string) => extractFacts(scriptedModel(answer))(turn, contextOf(context.stores.memory))
  t.strictSame(await of('- Ann lives in Ghent.\n\n2. Ann likes trams.\n'), [
    'Ann lives in Ghent.',
    'Ann likes trams.'
  ])
  t.strictSame(await of('NONE'), [])
  const failing = extractFacts(scriptedModel({ rejects: { statusCode: 401, message: 'sk-SECRET' } }))
  await t.rejects(async () => failing(turn, contextOf(context.stores.memory)), { code: 'RUN_ERR_MODEL_AUTH' })
})
