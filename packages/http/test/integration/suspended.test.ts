import { text } from 'node:stream/consumers'
import { createInProcessStores, defineRunnable } from '@svc/registry'
import { EventSource } from 'eventsource'
import t from 'tap'
import { servePlain } from '../helpers/plain-app.ts'

/** A workflow that does a step, waits for an approval, and goes on after a restart; and the steps that it did. */
function createFlow() {
  const done: string[] = []
  const runnable = defineRunnable({
    kind: 'workflow',
    name: 'flow',
    resumable: true,
    async *stream(_input, context) {
      yield { type: 'text', text: await context.step('first', () => (done.push('first'), 'begun')) }
      const { approved } = await context.approvals.request({ toolCallId: 'c', toolName: 'send', args: {} })
      yield { type: 'text', text: ` ${approved}` }
    }
  })
  return { runnable, done }
}

t.test('a client that waits for a workflow learns that it is suspended, and its Location', async (t) => {
  const engine = { stores: createInProcessStores() }
  const runnables = [createFlow().runnable]
  const first = await servePlain(t, { runnables, engine })
  const waiting = first.ask('POST', '/workflows/flow/run', { input: 'x' })
  await first.pendingApproval()
  await first.app.close()
  const { status, headers, body } = await waiting
  t.match([status, body.code], [503, 'RUN_ERR_SUSPENDED'])
  t.match(headers['retry-after'], /^\d+$/)
  const runId = String(headers['x-run-id'])
  const path = `/runs/${runId}`
  t.equal(headers.location, `/api${path}`)

  const second = await servePlain(t, { runnables, engine })
  t.match(await second.ask('GET', path), { status: 200, body: { runId, status: 'input-required' } })
  await second.ask('POST', `/approvals/${await second.pendingApproval()}`, { approved: true })
  t.match(await text(await second.open('GET', `${path}/stream`)), /begun[^]* true[^]*"stop"/)
  t.match((await second.ask('GET', '/runs')).body, { runs: [{ runId, status: 'completed' }] })
})

t.test('the same idempotency key gives the same run after a restart', async (t) => {
  const stores = createInProcessStores()
  const replayed = Promise.withResolvers<void>()
  const create = stores.runs.create.bind(stores.runs)
  stores.runs.create = async (run) => {
    const earlier = await create(run)
    if (earlier !== undefined) replayed.resolve()
    return earlier
  }
  const engine = { stores }
  const { runnable, done } = createFlow()
  const runnables = [runnable]
  const first = await servePlain(t, { runnables, engine })
  const headers = { 'idempotency-key': 'order-17' }
  const start = ({ ask }: typeof first) => ask('POST', '/workflows/flow/run', { input: 'x' }, headers)
  const waiting = [start(first)]
  await first.pendingApproval()
  // A replay waits for the same run.
  waiting.push(start(first))
  await replayed.promise
  await first.app.close()
  const told = await Promise.all(waiting)
  t.same(
    told.map(({ status, body }) => `${status} ${body.code}`),
    ['503 RUN_ERR_SUSPENDED', '503 RUN_ERR_SUSPENDED']
  )
  t.equal(new Set(told.map((answer) => answer.headers['x-run-id'])).size, 1)

  const second = await servePlain(t, { runnables, engine })
  const again = start(second)
  await second.ask('POST', `/approvals/${await second.pendingApproval()}`, { approved: true })
  t.match(await again, {
    status: 200,
    headers: { 'idempotency-replayed': 'true', 'x-run-id': told[0]!.headers['x-run-id'] },
    body: { text: 'begun true' }
  })
  t.same(done, ['first'])
})

t.test(
  'a stream says that the run goes on, and an EventSource gets the rest from the next process',
  async (t) => {
    const engine = { stores: createInProcessStores() }
    const runnables = [createFlow().runnable]
    const first = await servePlain(t, { runnables, engine })
    const started = await first.open('POST', '/workflows/flow/stream', { input: 'x' })
    const runId = String(started.headers['x-run-id'])
    const events = new EventSource(`${first.origin}/api/runs/${runId}/stream`)
    t.teardown(() => events.close())
    const seen: { id: string; type: string }[] = []
    const asked = Promise.withResolvers<void>()
    const finished = Promise.withResolvers<void>()
    events.addEventListener('message', ({ lastEventId, data }) => {
      const { type } = JSON.parse(data as string) as { type: string }
      seen.push({ id: lastEventId, type })
      if (type === 'tool.approval.request') asked.resolve()
      if (type === 'finish') finished.resolve()
    })
    await asked.promise
    await first.app.close()
    t.match(await text(started), /tool\.approval\.request[^]*\n\n: suspended[^\n]*\n\n$/)

    const port = Number(new URL(first.origin).port)
    const second = await servePlain(t, { runnables, engine, port })
    await second.ask('POST', `/approvals/${await second.pendingApproval()}`, { approved: true })
    await finished.promise
    t.same(
      seen.map(({ id, type }) => `${id} ${type}`),
      [
        '1 start',
        '2 text',
        '3 tool.approval.request',
        '4 text',
        '5 tool.approval.response',
        '6 text',
        '7 finish'
      ]
    )
  }
)
