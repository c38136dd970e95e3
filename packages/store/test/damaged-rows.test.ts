import { createRunEngine, defineRunnable, type RunLog, type SessionKey, type Stores } from '@svc/registry'
import { codeOf, scriptedRunnable, storedRun, textEntry } from '@svc/testing'
import t, { type Test } from 'tap'
import { eachDatabase, type TestDatabase } from './helpers/each-store.ts'

const DAMAGED = { code: 'RUN_ERR_DAMAGED' }
const key: SessionKey = { registry: 'global', owner: 'ada', kind: 'agent', name: 'echo', sessionId: 's' }
const scope = { runnables: [{ registry: 'global', kind: 'agent', name: 'echo' } as const] }
const listed = { owner: 'ada', scope, limit: 9 }

/** A database to be filled, damaged and opened again, and what is logged of it. */
function loggedOf(t: Test, { open, execute, bytes }: TestDatabase) {
  const lines: unknown[] = []
  const write = (details: object) => void lines.push(details)
  const log: RunLog = { debug: write, info: write, warn: write, error: write }
  return {
    lines,
    bytes,
    damage: execute,
    async open() {
      const store = await open({}, log)
      t.teardown(() => store.close())
      return store
    }
  }
}

/** A run that asks for an approval, and one that is resumed where it was. */
const asking = (name: string) =>
  defineRunnable({
    kind: 'workflow',
    name,
    resumable: true,
    async *stream(_input, context) {
      await context.step('first', () => 'kept')
      const outcome = await context.approvals.request({ toolCallId: 'c', toolName: 't', args: { a: 1 } })
      yield { type: 'text', text: JSON.stringify([await context.step('first', () => 'again'), outcome]) }
    }
  })

const DAMAGES = {
  'its checkpoint': ["update checkpoint set state = 'x'", { code: 'RUN_ERR_INTERRUPTED' }],
  'a step': ["update run_step set output = '{'", DAMAGED],
  'a part': ['update run_part set json = \'{"seq":1\' where seq = 1', DAMAGED]
} as const

await eachDatabase(t, async (t, make) => {
  t.test('a damaged record is an error, and other records are served', async (t) => {
    const { open, damage } = loggedOf(t, make(t))
    const first = await open()
    const [whole, result, error] = [storedRun(), storedRun(), storedRun()]
    for (const run of [whole, result, error]) await first.runs.create(run)
    const usage = { promptTokens: 0, completionTokens: 0, totalTokens: 0 }
    for (const { runId } of [whole, result])
      await first.log.append(runId, 1, [textEntry(1)], {
        status: 'completed',
        at: 2,
        result: {
          text: 'x',
          toolCalls: [],
          usage,
          structured: null,
          durationMs: 1,
          runId,
          sessionId: 's',
          finishReason: 'stop'
        }
      })
    const fault = { code: 'RUN_ERR_X', message: 'x', retryable: false, statusCode: 500 }
    await first.log.append(error.runId, 1, [textEntry(1)], { status: 'failed', at: 2, error: fault })
    await first.close()
    await damage(`update run set result = '{"text":"' where run_id = '${result.runId}'`)
    await damage(`update run set error = '' where run_id = '${error.runId}'`)

    const store = await open()
    for (const { runId } of [result, error])
      t.match(await store.runs.get(runId), { status: 'failed', result: null, error: DAMAGED })
    // A list reads no results.
    const ids = new Map([whole, result, error].map(({ runId }) => [runId, runId !== error.runId]))
    for (const { runs } of [await store.runs.list({ limit: 9 }), await store.runs.listChanged(listed)])
      t.same(new Map(runs.map((run) => [run.runId, run.error === null])), ids)
  })

  for (const [what, [sql, wanted]] of Object.entries(DAMAGES)) {
    t.test(`a run fails that cannot go on because ${what} is damaged, and no other`, async (t) => {
      const { open, damage, lines } = loggedOf(t, make(t))
      const before = await open()
      const crashed = createRunEngine({ stores: before, drainTimeout: 0 })
      const [run, other] = [await crashed.start(asking('a'), 'x'), await crashed.start(asking('b'), 'x')]
      await asksFor(before, run.runId)
      await asksFor(before, other.runId)
      await crashed.close()
      await before.close()
      await damage(`${sql}${sql.includes('where') ? ' and' : ' where'} run_id = '${run.runId}'`)

      const store = await open()
      const engine = createRunEngine({ stores: store, drainTimeout: 0 })
      t.teardown(() => engine.close())
      await engine.recover()
      for (const name of ['a', 'b']) await engine.resume(asking(name))
      for await (const _ of parts(engine, run.runId));
      t.match(await engine.get(run.runId), { status: 'failed', error: wanted })
      t.match(lines, what === 'its checkpoint' ? [{ table: 'checkpoint', row: run.runId }] : [])
      await engine.answer(`${other.runId}.1`, { approved: true })
      for await (const _ of parts(engine, other.runId));
      t.match(await engine.get(other.runId), { status: 'completed' })
    })
  }

  t.test('a run whose log is damaged ends when its client cancels it', async (t) => {
    const { open, damage } = loggedOf(t, make(t))
    const runId = await leaveAsking(open)
    await damage("update run_part set json = '{' where seq = 1")
    const engine = createRunEngine({ stores: await open(), drainTimeout: 0 })
    t.teardown(() => engine.close())
    await engine.recover()
    t.match(await engine.cancel(runId), { status: 'failed', error: DAMAGED })
  })

  t.test('a damaged approval counts as denied', async (t) => {
    for (const column of ['args', 'source', 'path', 'answer']) {
      const { open, damage } = loggedOf(t, make(t))
      const runId = await leaveAsking(open)
      await damage(`update run_input set ${column} = '{'`)
      const engine = createRunEngine({ stores: await open(), drainTimeout: 0 })
      t.teardown(() => engine.close())
      await engine.recover()
      t.match((await engine.list({ limit: 9 })).runs, [
        { waiting: { approvals: { first: [], count: 0 }, inputs: { count: 0 } } }
      ])
      t.same((await engine.listInputs({ kinds: ['approval'], limit: 9 })).inputs, [])
      t.match(await engine.get(runId), { inputs: [{ answer: { action: 'cancel' } }] })
      await engine.resume(asking('a'))
      // Nobody can say any more what the first approval was for: the run asks again.
      const approved = column === 'args'
      if (approved) await asksFor(engine.stores, runId, 2)
      if (approved) await engine.answer(`${runId}.2`, { approved: true })
      for await (const _ of parts(engine, runId));
      t.match(await engine.get(runId), { status: 'completed' })
      t.match((await engine.get(runId))?.result?.text, `"approved":${approved}`, column)
    }
  })

  t.test('an answer of another shape counts as denied', async (t) => {
    for (const json of ['5', '{}', 'null', '{"action":1}']) {
      const { open, damage } = loggedOf(t, make(t))
      const runId = await leaveAsking(open)
      await damage(`update run_input set answer = '${json}'`)
      const { runs } = await open()
      t.match(await runs.get(runId), { inputs: [{ answer: { action: 'cancel' } }] }, json)
    }
  })

  t.test('other damaged rows are skipped, and logged once', async (t) => {
    const { open, damage, bytes, lines } = loggedOf(t, make(t))
    const first = await open()
    for (const turn of ['a', 'b', 'c'])
      await first.sessions.append(key, turn, [{ role: 'user', content: turn }])
    const item = { owner: 'ada', namespace: 'n', createdAt: 1, embedding: [1], metadata: { a: 1 } }
    for (const id of ['a', 'b', 'c']) await first.memory.put({ ...item, id, text: `tea ${id}` })
    const task = { contextId: 'c', registry: 'global', owner: 'ada', agentName: 'echo', createdAt: 1 }
    await first.tasks.create({ ...task, taskId: 'r', messages: ['first'] }, 'm1')
    await first.tasks.addMessage('r', 'm2', 'second')
    for (const id of ['p', 'q'])
      await first.tasks.setPushConfig('r', { id, url: 'https://example.org', endpoint: '/a' }, 0)
    await first.close()
    await damage("update session_message set message = '{' where turn_id = 'b'")
    await damage(
      `update memory_item set metadata = '' where id = 'a'; update memory_item set embedding = ${bytes('01')} where id = 'b'`
    )
    await damage("update task_message set message = 'x' where message_id = 'm1'")
    await damage("update push_config set config = 'x' where config_id = 'p'")

    const store = await open()
    for (const _ of [1, 2]) {
      // What came before may be half of an exchange.
      t.same(await store.sessions.load(key, 9), [{ role: 'user', content: 'c' }])
      t.same(
        (await store.memory.list('ada', 'n', 9)).map(({ id }) => id),
        ['c']
      )
      t.same(
        (await store.memory.search('ada', 'n', 'tea', 9)).map(({ id }) => id),
        ['c', 'b'],
        'words are found without the embedding'
      )
      t.match(await store.tasks.get('r'), { messages: ['second'] })
      t.same((await store.tasks.list({ limit: 9 })).tasks.length, 1)
      t.match(await store.tasks.listPushConfigs('r'), [{ id: 'q' }])
      t.match(await store.tasks.claimPushes({ endpoint: '/a', maxTasks: 9 }), [{ config: { id: 'q' } }])
      await store.tasks.releasePushes('/a')
    }
    t.same(
      lines.map((line) => (line as { table: string }).table).toSorted((a, b) => a.localeCompare(b)),
      ['memory_item', 'memory_item', 'push_config', 'session_message', 'task_message']
    )
    await store.tasks.addMessage('r', 'm3', 'third')
    t.match(await store.tasks.get('r'), { messages: ['second', 'third'] })
  })

  t.test('reading a damaged log is an error', async (t) => {
    const { open, damage } = loggedOf(t, make(t))
    const first = await open()
    const engine = createRunEngine({ stores: first })
    const run = await engine.start(scriptedRunnable([{ type: 'text', text: 'a' }]), 'x')
    await run.result()
    await damage("update run_part set json = 'x' where seq > 1")
    t.equal(await codeOf(async () => Array.fromAsync(run.parts())), 'RUN_ERR_DAMAGED')
    await engine.close()
  })
})

/** A run that waits for its approval in a process that is gone. */
async function leaveAsking(open: ReturnType<typeof loggedOf>['open']): Promise<string> {
  const store = await open()
  const engine = createRunEngine({ stores: store, drainTimeout: 0 })
  const { runId } = await engine.start(asking('a'), 'x')
  await asksFor(store, runId)
  await engine.close()
  await store.close()
  return runId
}

async function asksFor(store: Pick<Stores, 'runs'>, runId: string, count = 1): Promise<void> {
  for (;;) {
    const run = await store.runs.get(runId)
    if (run?.inputs.length === count && run.status === 'input-required') return
    await new Promise((resolve) => setImmediate(resolve))
  }
}

function parts(engine: ReturnType<typeof createRunEngine>, runId: string) {
  return engine.parts(runId, 1)
}
