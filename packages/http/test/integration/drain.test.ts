import { text } from 'node:stream/consumers'
import { scriptedRunnable } from '@svc/testing'
import t from 'tap'
import { asking } from '../helpers/asking.ts'
import { servePlain } from '../helpers/plain-app.ts'

/** An agent that goes on when it is let. */
function held() {
  const gate = Promise.withResolvers<void>()
  const runnable = scriptedRunnable([{ type: 'text', text: 'begun' }, () => gate.promise], { name: 'held' })
  return { runnable, letGo: gate.resolve }
}

const refused = {
  status: 503,
  headers: { 'retry-after': /^\d+$/ },
  body: { code: 'RUN_ERR_DRAINING', requestId: /./ }
}

for (const begin of ['close', 'drain'] as const) {
  t.test(`a plain Fastify() serves all but new work until its runs have ended: ${begin}()`, async (t) => {
    const { runnable, letGo } = held()
    const runnables = [runnable, asking(), scriptedRunnable([60_000])]
    const { app, open, ask, start, pendingApproval } = await servePlain(t, { runnables })
    const watched = await start('agents/held')
    const canceled = await start('agents/scripted')
    const asked = await start('agents/asking')
    const approvalId = await pendingApproval()
    const over = begin === 'close' ? app.close() : app.runs.drain()

    t.match(await ask('GET', '/readyz'), refused)
    t.match(await ask('GET', '/livez'), { status: 200 })
    t.match(await ask('POST', '/agents/held/run', { input: 'x' }), refused)
    t.match(await ask('POST', '/agents/held/stream', { input: 'x' }), refused)
    t.match(await ask('GET', '/runs'), { status: 200, body: { runs: { length: 3 } } })
    t.match(await ask('GET', `/runs/${watched}`), { status: 200, body: { status: 'working' } })
    t.match(await ask('POST', `/runs/${canceled}/cancel`), { status: 200, body: { status: 'canceled' } })
    t.match(await ask('POST', `/approvals/${approvalId}`, { approved: true }), { status: 200 })
    const stream = await open('GET', `/runs/${watched}/stream`)
    t.equal(stream.statusCode, 200)
    const answered = await text(await open('GET', `/runs/${asked}/stream`))
    t.match(answered, /"approved":true[^]*on it goes[^]*"finishReason":"stop"/)

    letGo()
    t.match(await text(stream), /begun[^]*"finishReason":"stop"/)
    await over
    if (begin === 'drain') t.match(await ask('GET', '/readyz'), refused)
    await app.close()
  })
}

t.test('a service without runs closes at once', async (t) => {
  const { app, ask } = await servePlain(t, { runnables: [] })
  t.match(await ask('GET', '/readyz'), { status: 200 })
  await app.close()
})
