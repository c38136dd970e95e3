import { mock } from 'node:test'
import t from 'tap'
import { ANSWERS, echo } from '../helpers/realtime/echo.ts'
import { RealtimeCall } from '../helpers/realtime/realtime-call.ts'
import { startRealtimeServer } from '../helpers/realtime/realtime-server.ts'

t.beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }))
t.afterEach(() => mock.timers.reset())

t.test('a connection is replaced in a pause before the provider ends it', async (t) => {
  const upstream = await startRealtimeServer(t, { reply: echo })
  const call = await RealtimeCall.open(t, upstream.model)
  await call.ask('one')
  const reopened = call.next('reconnect')
  mock.timers.tick(3_600_000)
  await reopened
  await call.ask('two')
  await call.ask('three')
  t.same(call.answers, ANSWERS)
  t.match(call.all('reconnect'), [{ attempt: 1, reason: 'expiring' }])
  t.match(
    upstream.connections.map(({ items }) => items.map(({ text }) => text)),
    [['one', 'You said one.'], { length: 6 }]
  )
})
