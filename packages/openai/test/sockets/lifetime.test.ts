import { mock } from 'node:test'
import t from 'tap'
import { supportAgent } from '../helpers/agents.ts'
import { openAiApp } from '../helpers/openai-app.ts'
import { ResponseSocket } from '../helpers/response-socket.ts'

t.test('a connection lasts an hour, and its client opens another one', async (t) => {
  const { add } = supportAgent(['Hello', 'Again'])
  const { baseURL } = await openAiApp(t, { add })
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const socket = new ResponseSocket(baseURL)
  const { response } = await socket.ask({ model: 'support', input: 'Hi' })
  const closed = socket.closed()
  mock.timers.tick(3_600_000)
  t.same(await closed, [1012, 'websocket_connection_limit_reached'])
  t.match(socket.received.at(-1), {
    type: 'error',
    status: 400,
    error: { type: 'invalid_request_error', code: 'websocket_connection_limit_reached' }
  })
  const next = new ResponseSocket(baseURL)
  const body = { model: 'support', previous_response_id: response!.id, input: 'Go on' }
  t.match(await next.ask(body), { response: { status: 'completed' } })
  next.ws.close()
})
