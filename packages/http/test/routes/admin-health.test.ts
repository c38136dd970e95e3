import { scriptedRunnable } from '@svc/testing'
import t from 'tap'
import { ErrorCounts, EventLoopWatch } from '../../src/routes/admin-health.ts'
import { requireError } from '../helpers/require-error.ts'
import { buildSecuredApp } from '../helpers/secured-app.ts'

const failing = scriptedRunnable([() => Promise.reject(new Error('secret'))], { name: 'failing' })
const gate = Promise.withResolvers<void>()
const held = scriptedRunnable([() => gate.promise], { name: 'held' })

t.test('administrators see how the process is doing', async (t) => {
  const { ask, as } = await buildSecuredApp(t, { runnables: [failing, held] })
  const ada = as('ada', 'agents:run')
  t.equal((await ask('POST', '/agents/failing/run', ada, { input: 'x' })).status, 500)
  for (let n = 0; n < 2; n++) await ask('GET', '/runs/none', ada)
  const headers = { ...ada, prefer: 'respond-async' }
  t.equal((await ask('POST', '/agents/held/run', headers, { input: 'x' })).status, 202)
  const response = await ask('GET', '/admin/health', as('root', 'admin:*'))
  t.equal(response.status, 200)
  const report = (await response.json()) as { errors: { code: string; count: number }[] }
  t.match(report, { status: 'ok', runs: { active: 1, waiting: 0 }, memory: { rss: Number } })
  t.match(report, { eventLoop: { utilization: Number, delayMs: { p50: Number, p99: Number, max: Number } } })
  t.match(
    report.errors.find(({ code }) => code === 'RUN_ERR_NOT_FOUND'),
    { count: 2, lastAt: /Z$/ }
  )
  const failed = report.errors.filter(
    ({ code }) => code.startsWith('RUN_ERR_') && code !== 'RUN_ERR_NOT_FOUND'
  )
  t.equal(failed.length, 1)
  t.notMatch(JSON.stringify(report), /secret/)
  gate.resolve()
})

t.test('it is for administrators', async (t) => {
  const { ask, as } = await buildSecuredApp(t)
  await requireError(
    t,
    await ask('GET', '/admin/health', as('ada', 'agents:run')),
    403,
    'HTTP_ERR_MISSING_SCOPE'
  )
  await requireError(t, await ask('GET', '/admin/health'), 401, 'HTTP_ERR_NO_TOKEN')
})

t.test('a busy event loop shows', (t) => {
  const watch = new EventLoopWatch()
  setTimeout(() => {
    const until = performance.now() + 300
    while (performance.now() < until);
    setTimeout(() => {
      const { utilization, delayMs } = watch.report
      watch.close()
      t.ok(delayMs.max >= 100, String(delayMs.max))
      t.ok(utilization > 0 && utilization <= 1, String(utilization))
      t.end()
    }, 100)
  }, 100)
})

t.test('codes beyond the limit count as others', async (t) => {
  const counts = new ErrorCounts()
  for (let n = 0; n < 250; n++) counts.add(`E_${n}`)
  counts.add('E_7')
  const [first, second] = counts.list()
  t.match(
    [first, second],
    [
      { code: 'OTHER', count: 50 },
      { code: 'E_7', count: 2 }
    ]
  )
  t.equal(counts.list().length, 201)
})
