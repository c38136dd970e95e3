import { setImmediate as turn } from 'node:timers/promises'
import {
  createRunEngine,
  defineRunnable,
  type CredentialsAnswer,
  type InputOutcome,
  type Run
} from '@svc/registry'
import { createTestCluster } from '@svc/testing'
import t from 'tap'
import { partsOf } from '../../helpers/collect.ts'
import { cluster, requestOf, stayAlive, type Member } from '../../helpers/engine-cluster.ts'

stayAlive(t)

const secret = 'tok-3f9a-secret'
const given = { action: 'accept', content: { token: secret } } as const
let answers: CredentialsAnswer[] = []
let held: Promise<void> | undefined
t.beforeEach(() => {
  answers = []
  held = undefined
})

/** Uses credentials after a question, or before it. */
const signing = defineRunnable({
  kind: 'workflow',
  name: 'signing',
  resumable: true,
  async run(input, context) {
    const answer = await context.requestCredentials({ message: 'Sign in', durable: input === 'durable' })
    answers.push(answer)
    await held
    return answer.action
  }
})

/** Collects each answer to inputs as the stores get it, and what the control bus carries. */
function watchWrites({ node }: Member): unknown[] {
  const written: unknown[] = []
  const { runs, control } = node.stores
  const { answerInput, replaceAnswer } = runs
  runs.answerInput = (runId, inputId, answer) => {
    written.push(answer)
    return answerInput(runId, inputId, answer)
  }
  runs.replaceAnswer = (inputId, from, answer, sealKey) => {
    written.push(answer)
    return replaceAnswer(inputId, from, answer, sealKey)
  }
  const unsubscribe = control.subscribe((message) => written.push(message))
  t.teardown(unsubscribe)
  return written
}

/** As another node sees a run. */
function on({ engine }: Member, { runId }: Pick<Run, 'runId'>): Pick<Run, 'parts'> {
  return { parts: (after) => engine.parts(runId, after) }
}

function die({ node }: Member): void {
  node.loseContact()
  node.declareDead()
}

t.test('credentials given on another node are stored encrypted at most, and delivered', async (t) => {
  const [first, second] = (await cluster(t, [signing])) as [Member, Member]
  const written = [watchWrites(first), watchWrites(second)]
  const run = await first.engine.start(signing, 'x')
  const { inputId } = await requestOf(on(second, run))
  await second.engine.answer(inputId, given)
  t.match(await run.result(), { text: 'accept' })
  t.same(
    answers.map(({ credentials }) => credentials?.reveal()),
    [given.content]
  )
  const kept = (await second.engine.findInput(inputId))?.input.answer
  t.strictSame(kept, { action: 'accept', secret: true })
  t.notMatch(JSON.stringify([written, await first.engine.get(run.runId), await partsOf(run)]), secret)
})

t.test('answers without credentials are stored as they are', async (t) => {
  const [first, second] = (await cluster(t, [signing])) as [Member, Member]
  const run = await first.engine.start(signing, 'x')
  const { inputId } = await requestOf(on(second, run))
  await second.engine.answer(inputId, { action: 'accept' })
  await run.result()
  t.strictSame(answers, [{ action: 'accept' }])
  t.strictSame((await second.engine.findInput(inputId))?.input.answer, { action: 'accept' })
})

t.test('a node that takes over a waiting run keeps the request, and gets the credentials', async (t) => {
  const [first, second, third] = (await cluster(t, [signing], 3)) as [Member, Member, Member]
  const written = [watchWrites(second), watchWrites(third)]
  const run = await first.engine.start(signing, 'x')
  const { inputId, expiresAt } = await requestOf(on(second, run))
  const sealKey = (await second.engine.findInput(inputId))?.input.sealKey
  die(first)
  while ((await second.engine.findInput(inputId))?.input.sealKey === sealKey) await turn()
  const taken = [second, third].find(({ engine }) => engine.active > 0)!
  const other = taken === second ? third : second
  t.match((await other.engine.findInput(inputId))?.input, {
    expiresAt: Date.parse(expiresAt),
    answer: null
  })
  await other.engine.answer(inputId, given)
  t.match((await partsOf(on(other, run))).at(-1), { type: 'finish', finishReason: 'stop' })
  t.same(
    answers.map(({ credentials }) => credentials?.reveal()),
    [given.content]
  )
  t.notMatch(JSON.stringify([written, await partsOf(on(other, run))]), secret)
})

t.test(
  'credentials encrypted for a node that died are encrypted again for the one that takes its run',
  async (t) => {
    const [first, second] = (await cluster(t, [signing])) as [Member, Member]
    const run = await first.engine.start(signing, 'x')
    const { inputId } = await requestOf(on(second, run))
    first.node.stores.runs.replaceAnswer = () => new Promise(() => {})
    first.node.loseContact()
    const written = watchWrites(second)
    const answering = second.engine.answer(inputId, given)
    while (written.length === 0) await turn()
    first.node.declareDead()
    await answering
    t.match((await partsOf(on(second, run))).at(-1), { type: 'finish', finishReason: 'stop' })
    t.same(
      answers.map(({ credentials }) => credentials?.reveal()),
      [given.content]
    )
    t.match(written[0], { action: 'accept', sealed: String, secret: true } satisfies Partial<
      Record<keyof InputOutcome, unknown>
    >)
    t.notMatch(JSON.stringify(written), secret)
  }
)

t.test('a run whose node dies after it got its credentials asks again', async (t) => {
  const [first, second] = (await cluster(t, [signing])) as [Member, Member]
  held = new Promise(() => {})
  const run = await first.engine.start(signing, 'x')
  const { inputId } = await requestOf(on(first, run))
  await first.engine.answer(inputId, given)
  while (answers.length === 0) await turn()
  held = undefined
  die(first)
  const again = await requestOf(on(second, run), 3)
  t.not(again.inputId, inputId)
  t.match(again, { kind: 'auth', message: 'Sign in' })
  const content = { token: 'another-secret' }
  await second.engine.answer(again.inputId, { action: 'accept', content })
  t.match((await partsOf(on(second, run))).slice(1), [
    { type: 'input.request', inputId },
    { type: 'input.response', inputId, action: 'accept' },
    { type: 'input.request', inputId: again.inputId },
    { type: 'input.response', inputId: again.inputId },
    { type: 'text' },
    { type: 'finish' }
  ])
  t.same(
    answers.map(({ credentials }) => credentials?.reveal()),
    [given.content, content]
  )
})

t.test('an earlier answer without credentials still counts after a restart', async (t) => {
  const [first, second] = (await cluster(t, [signing])) as [Member, Member]
  held = new Promise(() => {})
  const run = await first.engine.start(signing, 'x')
  const { inputId } = await requestOf(on(first, run))
  await first.engine.answer(inputId, { action: 'accept' })
  while (answers.length === 0) await turn()
  held = undefined
  die(first)
  t.match((await partsOf(on(second, run))).slice(1), [
    { type: 'input.request', inputId },
    { type: 'input.response', inputId, action: 'accept' },
    { type: 'text', text: 'accept' },
    { type: 'finish' }
  ])
  t.strictSame(answers, [{ action: 'accept' }, { action: 'accept' }])
})

t.test('a run that left memory while it waits is loaded by its credentials', async (t) => {
  const shared = createTestCluster()
  const begin = async () => {
    const node = shared.join()
    const engine = createRunEngine({ drainTimeout: 0, stores: node.stores })
    t.teardown(() => engine.close())
    await engine.resume(signing)
    await engine.recover()
    return { node, engine }
  }
  const first = await begin()
  const run = await first.engine.start(signing, 'durable')
  const { inputId } = await requestOf(on(first, run))
  const second = await begin()
  die(first)
  while ((await second.engine.find(run.runId))?.epoch !== 2 || second.engine.active > 0) await turn()
  const third = await begin()
  const written = [watchWrites(second), watchWrites(third)]
  await third.engine.answer(inputId, given)
  t.match((await partsOf(on(third, run))).at(-1), { type: 'finish', finishReason: 'stop' })
  t.same(
    answers.map(({ credentials }) => credentials?.reveal()),
    [given.content]
  )
  t.notMatch(JSON.stringify(written), secret)
})
