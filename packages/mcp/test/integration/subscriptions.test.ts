import { scriptedRunnable } from '@svc/testing'
import { createRegistry } from '@svc/registry'
import t from 'tap'
import { connect, mcpApp } from '../helpers/mcp-app.ts'
import { sendModern } from '../helpers/send-modern.ts'

const parrot = (name: string) => scriptedRunnable([{ type: 'text', text: 'Hello' }], { name })

t.test('a client that listens learns of new tools, and of the end of the service', async (t) => {
  const registry = createRegistry()
  registry.add(parrot('first'))
  const { app, url } = await mcpApp(t, { options: { registry } })
  const client = await connect(t, url)
  const { promise: changed, resolve: change } = Promise.withResolvers<void>()
  client.setNotificationHandler('notifications/tools/list_changed', () => change())
  const subscription = await client.listen({ toolsListChanged: true })
  t.match(subscription.honoredFilter, { toolsListChanged: true })

  registry.add(parrot('second'))
  await changed
  t.match(
    (await client.listTools()).tools.map(({ name }) => name),
    ['first', 'second']
  )
  const closed = app.close()
  t.equal(await subscription.closed, 'graceful')
  await closed
})

t.test('tasks are not reported to those who listen', async (t) => {
  const { url } = await mcpApp(t, { runnables: [parrot('first')] })
  const params = { notifications: { taskIds: ['a'] } }
  t.match(await sendModern(url, 'subscriptions/listen', params), {
    error: {
      code: -32021,
      data: { requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } }
    }
  })
  const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } }
  const { method, params: accepted } = await sendModern(url, 'subscriptions/listen', params, { capabilities })
  t.match(method, 'notifications/subscriptions/acknowledged')
  t.strictSame(accepted?.['notifications'], {}, 'which the acknowledgement says')
})

t.test('one caller does not take the subscriptions of all', async (t) => {
  const authenticate = ({ token = '' }: { token?: string }) => ({ sub: token, scopes: [] })
  const { url } = await mcpApp(t, { runnables: [parrot('first')], engine: { authenticate } })
  const open = (token: string) => connect(t, url, { token })
  const [ann, bob] = [await open('ann'), await open('bob')]
  const all = await Promise.all(Array.from({ length: 64 }, () => ann.listen({ toolsListChanged: true })))
  const params = { notifications: { toolsListChanged: true } }
  const refused = await sendModern(url, 'subscriptions/listen', params, { token: 'ann' })
  t.match(refused.error, { code: -32602, data: { code: 'MCP_ERR_TOO_MANY_SUBSCRIPTIONS' } })
  t.ok(await bob.listen({ toolsListChanged: true }), 'another caller has its own')
  await all[0]!.close()
  for (let more; more === undefined;)
    more = await ann.listen({ toolsListChanged: true }).catch(() => undefined)
  t.pass('a place that was left is free again')
})
