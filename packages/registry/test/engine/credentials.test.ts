import { inspect } from 'node:util'
import { Type } from '@sinclair/typebox'
import {
  errors,
  createInProcessStores,
  defineRunnable,
  Secret,
  type CredentialsAnswer,
  type RunContext,
  type RunEngineOptions
} from '@svc/registry'
import { toRunRecord } from '../../src/engine/run-record.ts'
import { codeOf } from '@svc/testing'
import t, { type Test } from 'tap'
import { buildEngine, partsOf } from '../helpers/collect.ts'
import { requestOf } from '../helpers/engine-cluster.ts'

const secret = 'tok-3f9a-secret'
const schema = Type.Object({ token: Type.String() }, { additionalProperties: false })
const asked = { message: 'Sign in at https://auth.example.org', schema }

type Wait = (context: RunContext) => Promise<CredentialsAnswer>

/** An engine, and a resumable runnable that waits once for each of these. */
function build(t: Test, waits: readonly Wait[], options: RunEngineOptions = {}) {
  const answers: CredentialsAnswer[] = []
  const runnable = defineRunnable({
    kind: 'workflow',
    name: 'signing',
    resumable: true,
    async run(_input, context) {
      for (const wait of waits) answers.push(await wait(context))
      return 'done'
    }
  })
  const engine = buildEngine(t, options)
  return { engine, runnable, answers }
}

t.test('the answer to a request for credentials reaches the run, and nothing else', async (t) => {
  const stores = createInProcessStores()
  const written: unknown[] = []
  const { answerInput } = stores.runs
  stores.runs.answerInput = (runId, inputId, answer) => {
    written.push(answer)
    return answerInput(runId, inputId, answer)
  }
  const { engine, runnable, answers } = build(
    t,
    [
      async (context) => {
        const answer = await context.child('m').requestCredentials({ ...asked, toolCallId: 'c' })
        await context.step('kept', () => answer)
        return answer
      }
    ],
    { stores }
  )
  const run = await engine.start(runnable, 'x')
  const { inputId, ...request } = await requestOf(run)
  t.match(request, { kind: 'auth', message: asked.message, toolCallId: 'c', source: ['m'] })
  t.match(toRunRecord((await engine.find(run.runId))!), {
    status: 'input-required',
    pendingApprovals: [],
    pendingInputs: [{ inputId, kind: 'auth', message: asked.message }]
  })
  const { expiresAt } = (await engine.findInput(inputId))!.input
  t.ok(expiresAt > Date.now() + 86_340_000, 'a day, as for questions')
  const answered = await engine.answer(inputId, { action: 'accept', content: { token: secret } })
  await run.result()
  const [{ action, credentials }] = answers as [CredentialsAnswer]
  t.equal(action, 'accept')
  t.same(credentials?.reveal(), { token: secret })
  const parts = await partsOf(run)
  const { seq: _, at: __, ...response } = parts[2]!
  t.strictSame(response, { type: 'input.response', inputId, action: 'accept', source: ['m'] })
  const stored = [written, await engine.get(run.runId), await engine.findInput(inputId), parts, answered]
  t.notMatch(JSON.stringify(stored), secret)
  t.notMatch(JSON.stringify(await stores.runs.readStep(run.runId, 'kept')), secret)
})

t.test('a secret shows a placeholder unless it is revealed', (t) => {
  const hidden = new Secret({ token: secret })
  t.same(hidden.reveal(), { token: secret })
  t.notMatch([JSON.stringify({ hidden }), String(hidden), inspect(hidden), hidden.toString()], secret)
  t.end()
})

t.test('credentials may be granted elsewhere, refused, or not come in time', async (t) => {
  const cases = [
    [{ action: 'accept' }, { action: 'accept' }],
    [{ action: 'decline' }, { action: 'decline' }],
    [{ action: 'cancel' }, { action: 'cancel' }]
  ] as const
  for (const [given, expected] of cases) {
    const { engine, runnable, answers } = build(t, [
      (context) => context.requestCredentials({ message: '?' })
    ])
    const run = await engine.start(runnable, 'x')
    await engine.answer((await requestOf(run)).inputId, given)
    await run.result()
    t.strictSame(answers, [expected])
  }
  const late = build(t, [(context) => context.requestCredentials({ message: '?', timeout: 5 })])
  const run = await late.engine.start(late.runnable, 'x')
  const keepAlive = setInterval(() => {}, 1_000)
  await run.result()
  clearInterval(keepAlive)
  t.strictSame(late.answers, [{ action: 'cancel', expired: true }])
})

t.test('an answer that does not fit is refused without its content, and the run waits on', async (t) => {
  const { engine, runnable } = build(t, [(context) => context.requestCredentials(asked)])
  const run = await engine.start(runnable, 'x')
  const { inputId } = await requestOf(run)
  const bad = [
    { action: 'accept' },
    { action: 'accept', content: secret },
    { action: 'accept', content: { token: 'x', [secret]: secret } },
    { action: 'decline', content: { token: secret } },
    { action: 'maybe', content: { token: secret } }
  ]
  for (const answer of bad) {
    const fault = await engine.answer(inputId, answer as never).catch((err: Error) => err)
    t.match(fault, { code: 'RUN_ERR_BAD_INPUT' })
    t.notMatch(inspect(fault), secret)
  }
  t.match(await engine.find(run.runId), { status: 'input-required' })
  await engine.cancel(run.runId)
  t.equal(
    await codeOf(() => engine.answer(inputId, { action: 'accept', content: { token: secret } })),
    'RUN_ERR_INPUT_ANSWERED'
  )
})

t.test('a faulty request fails the run', async (t) => {
  for (const request of [{}, { message: '' }, { message: '?', schema: 3 }, { message: '?', timeout: 0 }]) {
    const { engine, runnable } = build(t, [(context) => context.requestCredentials(request as never)])
    const run = await engine.start(runnable, 'x')
    t.equal(await codeOf(() => run.result()), 'RUN_ERR_BAD_QUESTION')
  }
})

t.test('a run that rejects what it is asked fails with its reason', async (t) => {
  const engine = buildEngine(t)
  const rejecting = defineRunnable({
    kind: 'agent',
    name: 'rejecting',
    run() {
      throw new errors.RUN_ERR_REJECTED('100 % of it is none of my business')
    }
  })
  const run = await engine.start(rejecting, 'x')
  const error = { code: 'RUN_ERR_REJECTED', message: '100 % of it is none of my business', retryable: false }
  await t.rejects(run.result(), { ...error, statusCode: 422 })
  t.match((await partsOf(run)).at(-1), { type: 'error', error })
  t.match(await engine.find(run.runId), { status: 'failed', error })
})

t.test('credentials for a run that is not loaded are stored encrypted, for this process only', async (t) => {
  const stores = createInProcessStores()
  const waits: Wait[] = [(context) => context.requestCredentials(asked)]
  const first = build(t, waits, { stores })
  const run = await first.engine.start(first.runnable, 'x')
  const { inputId } = await requestOf(run)
  const answer = { action: 'accept', content: { token: secret } } as const
  const stored = async () => (await stores.runs.get(run.runId))?.inputs.map((input) => input.answer)

  // Each engine stands for a process that takes over from the one before.
  const second = build(t, waits, { stores })
  await second.engine.answer(inputId, answer)
  t.match(await stored(), [{ action: 'accept', sealed: String, secret: true }])
  t.notMatch(JSON.stringify(await stored()), secret)

  const third = build(t, waits, { stores })
  await third.engine.recover()
  await third.engine.resume(third.runnable)
  t.strictSame(await stored(), [null], 'the process with the key is gone: the run waits again')

  const fourth = build(t, waits, { stores })
  await fourth.engine.recover()
  await fourth.engine.answer(inputId, answer)
  await fourth.engine.resume(fourth.runnable)
  t.match((await partsOf({ parts: (after) => fourth.engine.parts(run.runId, after) })).slice(1), [
    { type: 'input.request', inputId },
    { type: 'input.response', inputId, action: 'accept' },
    { type: 'text' },
    { type: 'finish' }
  ])
  t.same(
    fourth.answers.map(({ credentials }) => credentials?.reveal()),
    [answer.content]
  )
})
