import type { RunList } from '@svc/http'
import { defineRunnable, type RunRecord } from '@svc/registry'
import { scriptedRunnable } from '@svc/testing'
import t from 'tap'
import { buildApp, echo, type TestApp } from '../helpers/build-app.ts'
import { readParts } from '../helpers/event-stream.ts'
import { requireError } from '../helpers/require-error.ts'

const endless = scriptedRunnable([{ type: 'text', text: 'still here' }, 60_000], { name: 'endless' })

/** Runs an agent, and gives the id of the run. */
async function runOnce({ post }: Pick<TestApp, 'post'>, name = 'echo'): Promise<string> {
  const response = await post(`/agents/${name}/run`, { input: 'hi' })
  await response.text()
  return response.headers.get('x-run-id') ?? ''
}

t.test('the record of a run', async (t) => {
  const app = await buildApp(t, { runnables: [echo, endless] })
  const runId = await runOnce(app)
  const record = (await (await app.get(`/runs/${runId}`)).json()) as RunRecord
  t.match(record, { runId, kind: 'agent', name: 'echo', status: 'completed', pendingApprovals: [] })
  t.match(record.result, { text: 'hi', runId })
  t.match(record.createdAt, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)

  const run = await app.runs.start(endless, 'x')
  t.match(await (await app.get(`/runs/${run.runId}`)).json(), { status: 'working' })
})

t.test(
  'a queued run has its place in its record, in lists and after a cancel of one before it',
  async (t) => {
    const gate = Promise.withResolvers<void>()
    const queued = defineRunnable({
      kind: 'agent',
      name: 'queued',
      resumable: true,
      queue: true,
      async *stream() {
        await gate.promise
        yield { type: 'text', text: 'done' }
      }
    })
    const { get, post } = await buildApp(t, { runnables: [queued], engine: { queue: { concurrency: 1 } } })
    const start = async () => {
      const response = await post('/agents/queued/run', { input: 'x' }, { prefer: 'respond-async' })
      t.equal(response.status, 202)
      return ((await response.json()) as RunRecord).runId
    }
    const recordOf = async (runId: string) => (await (await get(`/runs/${runId}`)).json()) as RunRecord
    const [first, second, third] = [await start(), await start(), await start()]
    while ((await recordOf(first)).status === 'submitted');
    t.notOk('queuePosition' in (await recordOf(first)))
    t.match(await recordOf(second), { status: 'submitted', queuePosition: 1 })
    t.match(await recordOf(third), { status: 'submitted', queuePosition: 2 })
    const { runs } = (await (await get('/runs?name=queued')).json()) as RunList
    t.strictSame(
      new Map(runs.map(({ runId, queuePosition }) => [runId, queuePosition])),
      new Map([
        [third, 2],
        [second, 1],
        [first, undefined]
      ])
    )
    t.match(await (await post(`/runs/${second}/cancel`)).json(), { runId: second, status: 'canceled' })
    t.match(await recordOf(third), { status: 'submitted', queuePosition: 1 })
    const reading = get(`/runs/${third}/stream`)
    gate.resolve()
    const parts = await readParts(await reading)
    t.same(
      parts.map(({ type }) => type),
      ['start', 'text', 'finish']
    )
    t.match(await recordOf(third), { status: 'completed', queuePosition: undefined })
  }
)

t.test('a run is canceled once', async (t) => {
  const { post, runs } = await buildApp(t, { runnables: [endless] })
  const { runId } = await runs.start(endless, 'x')
  const response = await post(`/runs/${runId}/cancel`)
  t.equal(response.status, 200)
  t.match(await response.json(), { runId, status: 'canceled', result: { finishReason: 'canceled' } })
  await requireError(t, await post(`/runs/${runId}/cancel`), 409, 'RUN_ERR_TERMINAL')
})

t.test('missing, unexposed and foreign runs are indistinguishable', async (t) => {
  const { get, post, runs } = await buildApp(t, { runnables: [echo] })
  const hidden = await runs.start(endless, 'x')
  const foreign = await runs.start(echo as typeof endless, 'x', { principal: { sub: 'else', scopes: [] } })
  for (const id of ['nothing', hidden.runId, foreign.runId, 'a%00b', '..%2f..%2fetc%2fpasswd', '__proto__']) {
    await requireError(t, await get(`/runs/${id}`), 404, 'RUN_ERR_NOT_FOUND', id)
    await requireError(t, await get(`/runs/${id}/stream`), 404, 'RUN_ERR_NOT_FOUND', id)
    await requireError(t, await post(`/runs/${id}/cancel`), 404, 'RUN_ERR_NOT_FOUND', id)
  }
  t.equal((await runs.get(hidden.runId))?.status, 'working')
})

t.test('list: own, exposed runs, newest first, in pages', async (t) => {
  const app = await buildApp(t, { runnables: [echo, { ...echo, name: 'other' }] })
  const ids: string[] = []
  for (let i = 0; i < 7; i++) {
    ids.unshift(await runOnce(app))
    await app.runs.start(endless, 'not exposed')
    await app.runs.start(echo as typeof endless, 'x', { principal: { sub: 'else', scopes: [] } })
  }
  await runOnce(app, 'other')
  const list = async (query: string) => (await (await app.get(`/runs${query}`)).json()) as RunList

  const all = await list('?name=echo')
  t.strictSame(all.runs.map(({ runId }) => runId).toSorted(), ids.toSorted())
  t.equal(all.nextCursor, null)
  t.strictSame(
    all.runs
      .map(({ createdAt }) => createdAt)
      .toSorted()
      .toReversed(),
    all.runs.map(({ createdAt }) => createdAt)
  )

  const paged: string[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const page: RunList = await list(`?limit=3${cursor && `&cursor=${cursor}`}`)
    t.ok(page.runs.length <= 3)
    paged.push(...page.runs.map(({ runId }) => runId))
    cursor = page.nextCursor
  }
  t.equal(paged.length, 8)
  t.equal(new Set(paged).size, 8)

  t.equal((await list('?status=completed&limit=100')).runs.length, 8)
  t.strictSame(await list('?status=failed'), { runs: [], nextCursor: null })
  t.strictSame(await list('?name=endless'), { runs: [], nextCursor: null })
})

t.test('list: what changed since then, with what each run took', async (t) => {
  const steps = defineRunnable({
    kind: 'agent',
    name: 'steps',
    async *stream() {
      const usage = { promptTokens: 3, completionTokens: 2, totalTokens: 5 }
      for (const index of [0, 1]) {
        yield { type: 'step.start', index, attempt: 1 }
        yield { type: 'text', text: 'done' }
        yield { type: 'step', index, usage, durationMs: 90, firstTokenMs: 40 + index }
      }
    }
  })
  const app = await buildApp(t, { runnables: [echo, endless, steps] })
  const list = async (query: string) => (await (await app.get(`/runs${query}`)).json()) as RunList
  const early = await app.runs.start(endless, 'x', { principal: { sub: 'anonymous', scopes: [] } })
  const [first] = (await list('')).runs
  t.equal(first!.runId, early.runId)
  t.notOk('usage' in first!, 'it is not over')
  const others = [await runOnce(app), await runOnce(app, 'steps')]
  const endedAt = Date.now()
  while (Date.now() === endedAt) await new Promise(setImmediate)
  await app.runs.cancel(early.runId)
  await early.result().catch(() => {})

  const since = `?since=${encodeURIComponent(first!.updatedAt)}`
  const { runs } = await list(since)
  t.equal(runs[0]!.runId, early.runId, 'the last changed comes first')
  t.same(new Set(runs.map(({ runId }) => runId)), new Set([early.runId, ...others]))
  const byName = new Map(runs.map((run) => [run.name, run]))
  t.strictSame(byName.get('steps')!.usage, { promptTokens: 6, completionTokens: 4, totalTokens: 10 })
  t.equal(byName.get('steps')!.firstTokenMs, 40, 'of the first model call')
  t.strictSame(byName.get('echo')!.usage, { promptTokens: 0, completionTokens: 0, totalTokens: 0 })
  t.notOk('firstTokenMs' in byName.get('echo')!)

  const paged: string[] = []
  for (let cursor: string | null = ''; cursor !== null;) {
    const page: RunList = await list(`${since}&limit=1${cursor && `&cursor=${cursor}`}`)
    paged.push(...page.runs.map(({ runId }) => runId))
    cursor = page.nextCursor
  }
  t.strictSame(
    paged,
    runs.map(({ runId }) => runId)
  )
  t.strictSame((await list(`${since}&name=echo&status=completed`)).runs, [byName.get('echo')])
  t.strictSame((await list('?since=2999-01-01T00:00:00%2B01:00')).runs, [])
})

t.test('runs of unexposed runnables take no place on a page', async (t) => {
  const app = await buildApp(t, { runnables: [echo] })
  const oldest = await runOnce(app)
  const hidden = scriptedRunnable([], { name: 'hidden' })
  for (let i = 0; i < 25; i++) await (await app.runs.start(hidden, 'x')).result()
  const page = (await (await app.get('/runs?limit=1')).json()) as RunList
  t.match(page, { runs: [{ runId: oldest }], nextCursor: null })
})

t.test('bad queries', async (t) => {
  const { get } = await buildApp(t, { runnables: [echo] })
  const bad = [
    'limit=0',
    'limit=101',
    'limit=x',
    'limit=1.5',
    'status=done',
    'name=',
    'since=yesterday',
    'since=2026-02-30T00:00:00Z',
    'since=2026-06-30T23:59:60Z',
    'since=2026-06-30',
    'status=failed&status=failed'
  ]
  for (const query of bad) {
    const { errors } = await requireError(t, await get(`/runs?${query}`), 400, 'HTTP_ERR_VALIDATION', query)
    t.match(errors, [{ path: `query/${query.slice(0, query.indexOf('='))}` }])
  }
  await requireError(t, await get('/runs?cursor=x'), 400, 'REG_ERR_BAD_CURSOR')
})

t.test('follow a run from the start or after a part', async (t) => {
  const app = await buildApp(t, { runnables: [echo, endless] })
  const runId = await runOnce(app)
  const path = `/runs/${runId}/stream`
  const all = await readParts(await app.get(path))
  t.strictSame(
    all.map(({ type }) => type),
    ['start', 'text', 'finish']
  )
  t.strictSame(await readParts(await app.get(path, { 'last-event-id': '1' })), all.slice(1))
  t.strictSame(await readParts(await app.get(`${path}?after=1`)), all.slice(1))
  t.strictSame(
    await readParts(await app.get(`${path}?after=0`, { 'last-event-id': '2' })),
    all.slice(2),
    'the header wins'
  )

  const head = await fetch(`${app.url}${path}`, { method: 'HEAD' })
  t.equal(head.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  const nothing = await app.get(path, { 'last-event-id': '3' })
  t.equal(nothing.status, 204, 'who has it all is told not to come back')
})

t.test('bad Last-Event-ID', async (t) => {
  const app = await buildApp(t, { runnables: [echo] })
  const path = `/runs/${await runOnce(app)}/stream`
  const bad = ['-1', '1.5', 'x', '1e1', '0x1', '9'.repeat(400), 'NaN', 'null', '1,2', "1' OR 1=1", '%00']
  for (const id of bad) {
    await requireError(t, await app.get(path, { 'last-event-id': id }), 400, 'HTTP_ERR_BAD_LAST_EVENT_ID', id)
    const query = `?after=${encodeURIComponent(id)}`
    await requireError(t, await app.get(path + query), 400, 'HTTP_ERR_BAD_LAST_EVENT_ID', query)
  }
  await requireError(t, await app.get(`${path}?after=`), 400, 'HTTP_ERR_BAD_LAST_EVENT_ID')
  await requireError(t, await app.get(`${path}?after=1&after=2`), 400, 'HTTP_ERR_VALIDATION')
  for (const id of ['4', '9'.repeat(15)])
    await requireError(t, await app.get(path, { 'last-event-id': id }), 410, 'RUN_ERR_LOG_GONE', id)
})
