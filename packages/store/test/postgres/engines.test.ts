import { setImmediate as turn } from 'node:timers/promises'
import {
  createRunEngine,
  defineRunnable,
  type NumberedPart,
  type RunEngine,
  type Runnable,
  type SessionKey
} from '@svc/registry'
import { createRedact } from '@svc/registry/engine'
import { codeOf, scriptedRunnable, steppedRunnable } from '@svc/testing'
import type { Store } from '@svc/store'
import { startProxy } from '@tools/postgres'
import t, { type Test } from 'tap'
import { onPostgres } from '../helpers/each-store.ts'
import { createNodes } from '../helpers/nodes.ts'

interface Member {
  readonly engine: RunEngine
  readonly store: Store
}

const never = new AbortController().signal

/** Reads a run to its end, and requires that its log has no gap. */
async function readWhole(t: Test, { engine }: Member, runId: string): Promise<NumberedPart[]> {
  const parts: NumberedPart[] = []
  for await (const part of engine.parts(runId)) parts.push(part)
  t.same(
    parts.map(({ seq }) => seq),
    parts.map((_, index) => index + 1),
    'no gap, nothing twice'
  )
  return parts
}

const textOf = (parts: readonly NumberedPart[]) =>
  parts.map((part) => (part.type === 'text' ? part.text : '')).join('')

await onPostgres(t, async (t, _open, url) => {
  /** Engines with these runnables on one schema, each with connections and a lease of its own. */
  async function cluster(t: Test, runnables: readonly Runnable[], size = 2) {
    const { schema, admin, open } = await createNodes(t, url)
    const members: Member[] = []
    t.teardown(async () => {
      for (const { engine } of members) await engine.close()
    })
    for (let count = 0; count < size; count++) {
      const store = await open({ lease: { ttl: 10_000, beat: 100 } })
      const engine = createRunEngine({ stores: store, drainTimeout: 0, limits: { maxRunsPerOwner: 5 } })
      members.push({ engine, store })
      for (const runnable of runnables) await engine.resume(runnable)
      await store.lease!.whenHeld(never)
      await engine.recover()
    }
    return {
      members: members as [Member, Member, Member],
      /** The answers to inputs, as the table has them. */
      async readAnswers(): Promise<string[]> {
        const { rows } = await admin.query<{ answer: string }>(
          `select answer from ${schema}.run_input where answer is not null`
        )
        return rows.map(({ answer }) => answer)
      },
      /** Removes the node that has a run, as others do once its lease has expired. */
      async declareDead(runId: string) {
        const node = `select node_id from ${schema}.run where run_id = $1`
        await admin.query(`delete from ${schema}.node where node_id in (${node})`, [runId])
      }
    }
  }

  await t.test('runs of a node that is declared dead go on elsewhere, also for their callers', async (t) => {
    const hold = Promise.withResolvers<void>()
    const held = Promise.withResolvers<void>()
    const done: string[] = []
    const flow = steppedRunnable(['one', 'two'], async (name) => {
      done.push(name)
      if (done.length !== 2) return name
      held.resolve()
      await hold.promise
      return 'late'
    })
    const gate = Promise.withResolvers<void>()
    const agent = scriptedRunnable([() => gate.promise])
    const { members, declareDead } = await cluster(t, [flow, agent], 3)
    const [first, second, third] = members
    const run = await first.engine.start(flow, 'x')
    const plain = await first.engine.start(agent, 'x')
    const failed = codeOf(() => plain.result())
    await held.promise
    const reading = Promise.all(members.map((member) => readWhole(t, member, run.runId)))
    await declareDead(run.runId)
    for (const parts of await reading) t.equal(textOf(parts), 'one;two;')
    t.match(await run.result(), { text: 'one;two;' })
    t.match((await readWhole(t, second, plain.runId)).at(-1), { error: { code: 'RUN_ERR_INTERRUPTED' } })
    t.equal(await failed, 'RUN_ERR_INTERRUPTED')
    hold.resolve()
    gate.resolve()
    t.match(await third.engine.get(run.runId), { status: 'completed', epoch: 2 })
    t.same(done, ['one', 'two', 'two'])
    t.match(
      await (
        await first.engine.start(
          steppedRunnable([], () => {}),
          'x'
        )
      ).result(),
      { finishReason: 'stop' }
    )
  })

  await t.test('cancel against end: one of them happens', async (t) => {
    const gates: (() => void)[] = []
    const agent = scriptedRunnable([() => new Promise<void>((resolve) => void gates.push(resolve))])
    const [first, second] = (await cluster(t, [agent])).members
    const race = async (round: number) => {
      const run = await first.engine.start(agent, 'x')
      for (let count = 0; count < round % 9; count++) await turn()
      const canceled = codeOf(() => second.engine.cancel(run.runId))
      for (let count = 0; count < round % 7; count++) await first.store.runs.find('missing')
      if (round % 2 === 0) for (const open of gates) open()
      const { finishReason } = await run.result()
      t.equal(await canceled, finishReason === 'canceled' ? 'none' : 'RUN_ERR_TERMINAL')
      const parts = await readWhole(t, second, run.runId)
      t.match(parts.at(-1), { type: 'finish', finishReason })
      return finishReason
    }
    const ends: string[] = []
    for (let round = 0; round < 40; round++) ends.push(await race(round))
    t.ok(ends.includes('canceled') && ends.includes('stop'), 'each wins sometimes')
  })

  await t.test("no table has a caller's key that an answer on another node contains", async (t) => {
    const key = 'sk-caller-0123'
    const given = { approved: true, reason: `since ${key}`, args: { key } }
    const asking = scriptedRunnable([
      async ({ approvals }) =>
        void t.strictSame(
          await approvals.request({ toolCallId: 'c', toolName: 't', args: {} }),
          given,
          'delivered unchanged'
        )
    ])
    const { members, readAnswers } = await cluster(t, [asking])
    const [first, second] = members
    const run = await first.engine.start(asking, 'x', { redact: createRedact([key]) })
    const inputId = `${run.runId}.1`
    while ((await second.engine.findInput(inputId)) === undefined) await turn()
    const seen: string[] = []
    const answering = second.engine.answer(inputId, given)
    const ended = run.result().then(() => true)
    while (!(await Promise.race([ended, turn(false)]))) seen.push(...(await readAnswers()))
    await answering
    seen.push(...(await readAnswers()))
    t.notMatch(seen.join(), key)
    t.same(JSON.parse(seen.at(-1)!), {
      action: 'accept',
      content: { key: '[redacted]' },
      reason: 'since [redacted]'
    })
  })

  await t.test(
    'no table has the credentials that another node was given, and the run gets them',
    async (t) => {
      const content = { token: 'tok-3f9a-secret' }
      const got: unknown[] = []
      const signing = defineRunnable({
        kind: 'workflow',
        name: 'signing',
        resumable: true,
        async run(_input, context) {
          const { credentials } = await context.requestCredentials({ message: 'Sign in' })
          got.push(credentials?.reveal())
          return 'done'
        }
      })
      const { members, readAnswers, declareDead } = await cluster(t, [signing], 3)
      const [first, second, third] = members
      const run = await first.engine.start(signing, 'x')
      const inputId = `${run.runId}.1`
      const find = async () => (await second.engine.findInput(inputId))?.input
      while ((await find()) === undefined) await turn()
      const sealKey = (await find())!.sealKey
      await declareDead(run.runId)
      // The node that takes the run over has a key of its own.
      while ((await find())!.sealKey === sealKey) await turn()
      const other = second.engine.active === 0 ? second : third
      const seen: string[] = []
      const answering = other.engine.answer(inputId, { action: 'accept', content })
      const ended = readWhole(t, other, run.runId).then(() => true)
      while (!(await Promise.race([ended, turn(false)]))) seen.push(...(await readAnswers()))
      await answering
      seen.push(...(await readAnswers()))
      t.same(got, [content])
      t.notMatch(seen.join(), content.token)
      t.same(JSON.parse(seen.at(-1)!), { action: 'accept', secret: true })
    }
  )

  await t.test('the first of two answers on two nodes counts', async (t) => {
    const asking = defineRunnable({
      kind: 'agent',
      name: 'asking',
      async *stream(_input, context) {
        const { reason } = await context.approvals.request({ toolCallId: 'c', toolName: 't', args: {} })
        yield { type: 'text', text: `${reason}` }
      }
    })
    const [first, second, third] = (await cluster(t, [asking], 3)).members
    for (let round = 0; round < 10; round++) {
      const run = await first.engine.start(asking, 'x')
      const inputId = `${run.runId}.1`
      while ((await second.engine.findInput(inputId)) === undefined) await turn()
      const answers = await Promise.all(
        [second, third].map(({ engine }, index) =>
          codeOf(() => engine.answer(inputId, { approved: true, reason: `by ${index}` }))
        )
      )
      t.same(answers.map(String).toSorted(), ['RUN_ERR_INPUT_ANSWERED', 'none'])
      t.match(await run.result(), { text: `by ${answers.indexOf('none')}` })
    }
  })

  await t.test('starts with one key, and starts of one owner, are counted on all nodes', async (t) => {
    const gate = Promise.withResolvers<void>()
    const agent = scriptedRunnable([() => gate.promise])
    const { members } = await cluster(t, [agent], 3)
    const ada = { principal: { sub: 'ada', scopes: [] } }
    const startKey = { key: 'k', hash: 'h' }
    const start = (index: number, options: object) =>
      members[index % 3]!.engine.start(agent, 'x', { ...ada, ...options })
    const same = await Promise.all(Array.from({ length: 12 }, (_, index) => start(index, { startKey })))
    t.equal(new Set(same.map(({ runId }) => runId)).size, 1)
    t.equal(same.filter(({ replayed }) => !replayed).length, 1)
    for (let index = 0; index < 4; index++) await start(index, {})
    for (let index = 0; index < 3; index++)
      t.equal(await codeOf(() => start(index, {})), 'RUN_ERR_TOO_MANY_RUNS')
    gate.resolve()
    await Promise.all(same.map((run) => run.result()))
    await start(0, {})
  })

  await t.test('turns of one session follow each other, whichever node has them', async (t) => {
    let turns = 0
    let most = 0
    const talker = defineRunnable({
      kind: 'agent',
      name: 'talker',
      async *stream(input, context) {
        const { sessionId, registry, idempotencyKey, stores, signal } = context
        const key: SessionKey = { registry, kind: 'agent', name: 'talker', owner: 'anonymous', sessionId }
        const release = await stores.sessions.lock(key, signal, idempotencyKey)
        most = Math.max(most, ++turns)
        const { length } = await stores.sessions.load(key, 100)
        await stores.sessions.append(key, idempotencyKey, [{ role: 'user', content: `${length}` }])
        turns--
        release()
        yield { type: 'text', text: `${length} ${String(input)}` }
      }
    })
    const { members } = await cluster(t, [talker], 3)
    const runs = await Promise.all(
      Array.from({ length: 24 }, (_, index) =>
        members[index % 3]!.engine.start(talker, 'x', { sessionId: 'shared' })
      )
    )
    const texts = await Promise.all(runs.map(async (run) => (await run.result()).text))
    t.equal(most, 1)
    t.same(new Set(texts), new Set(runs.map((_, index) => `${index} x`)))
  })

  await t.test(
    'a message whose answer is lost comes before those that are sent after its repetition',
    async (t) => {
      const proxy = await startProxy(url)
      t.teardown(() => proxy.close())
      const { open } = await createNodes(t, url)
      const heard: unknown[] = []
      const talker = defineRunnable({
        kind: 'agent',
        name: 'talker',
        takesTurns: true,
        async run(input) {
          heard.push(input)
          return ''
        }
      })
      const [cutOff, other] = await Promise.all(
        [proxy.url, url].map(async (each) => {
          const store = await open({ url: each })
          const engine = createRunEngine({ stores: store })
          t.teardown(() => engine.close())
          await store.lease!.whenHeld(never)
          return engine
        })
      )
      const message = { sessionId: 's', startKey: { key: 'the first message', hash: 'h' } }
      proxy.loseAnswers(message.startKey.key)
      const starting = cutOff!.start(talker, 'first', message)
      await proxy.lost()
      const repeated = await other!.start(talker, 'first', message)
      const second = await other!.start(talker, 'second', { sessionId: 's' })
      proxy.pass()
      const first = await starting
      t.equal(repeated.runId, first.runId)
      for (const run of [first, repeated, second]) await run.result()
      t.same(heard, ['first', 'second'])
    }
  )

  await t.test('a drain hands over runs at once, though others must end first', async (t) => {
    const hold = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    const flow = steppedRunnable(['one', 'two'], async (name) => {
      if (name === 'one') await hold.promise
      return name
    })
    const agent = scriptedRunnable([() => gate.promise])
    const [first, second] = (await cluster(t, [flow, agent])).members
    const runs = await Promise.all(Array.from({ length: 10 }, () => first.engine.start(flow, 'x')))
    const plain = await first.engine.start(agent, 'x')
    const here = runs.map(({ runId }) => readWhole(t, first, runId))
    const draining = first.engine.drain(600_000)
    hold.resolve()
    for (const { runId } of runs) t.equal(textOf(await readWhole(t, second, runId)), 'one;two;')
    for (const reading of here) t.equal(textOf(await reading), 'one;two;')
    t.match(await runs[0]!.result(), { text: 'one;two;' })
    t.match(await second.engine.get(plain.runId), { status: 'working', epoch: 1 })
    gate.resolve()
    await draining
    t.match(await plain.result(), { finishReason: 'stop' })
  })

  await t.test('a node that closes leaves its runs to others at once', async (t) => {
    const reached = Promise.withResolvers<void>()
    let attempts = 0
    const flow = steppedRunnable(['one'], () => {
      if (++attempts > 1) return 'again'
      reached.resolve()
      return new Promise(() => {})
    })
    const [first, second] = (await cluster(t, [flow])).members
    const run = await first.engine.start(flow, 'x')
    const suspended = codeOf(() => run.result())
    await reached.promise
    await first.engine.close()
    t.equal(await suspended, 'RUN_ERR_SUSPENDED')
    t.equal(textOf(await readWhole(t, second, run.runId)), 'again;')
  })
})
