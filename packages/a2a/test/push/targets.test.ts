import t from 'tap'
import { createWaiting } from '../helpers/agents.ts'
import { buildApp, say, sayV1 } from '../helpers/build-app.ts'
import { createReceiver } from '../helpers/receiver.ts'

const REFUSED = [
  'http://127.0.0.1/',
  'http://127.1/',
  'http://2130706433/',
  'http://0x7f000001/',
  'http://0177.0.0.1/',
  'http://127.0.0.1./',
  'http://127。0。0。1/',
  'http://%31%32%37.0.0.1/',
  'http://①②⑦.0.0.1/',
  'http://0.0.0.0/',
  'http://0/',
  'http://10.0.0.1/',
  'http://172.16.0.1/',
  'http://192.168.1.1/',
  'http://100.64.0.1/',
  'http://169.254.169.254/latest/meta-data',
  'http://0xA9FEA9FE/',
  'http://2852039166/',
  'http://[::1]/',
  'http://[::]/',
  'http://[::ffff:127.0.0.1]/',
  'http://[::ffff:7f00:1]/',
  'http://[fe80::1]/',
  'http://[fd00:ec2::254]/',
  'http://[64:ff9b::7f00:1]/',
  'http://[2002:7f00:1::]/',
  'http://[::127.0.0.1]/',
  'http://localhost/',
  'http://LOCALHOST./',
  'http://a.localhost/',
  'http://metadata.google.internal/',
  'http://metadata/',
  'http://printer.local/',
  'http://224.0.0.1/',
  'http://255.255.255.255/',
  'ftp://example.org/',
  'file:///etc/passwd',
  'http://user:pw@example.org/',
  'nonsense',
  '//example.org/',
  'http:///'
]
const resolving =
  (...addresses: string[]) =>
  async () =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))

t.test('addresses that are not public are refused at registration, in every spelling', async (t) => {
  const app = await buildApp(t, {
    options: { pushNotifications: { lookup: resolving('93.184.215.14') } }
  })
  const { id: taskId } = (await app.rpc('message/send', say('x'))).result
  for (const url of REFUSED) {
    const set = await app.rpc('tasks/pushNotificationConfig/set', { taskId, pushNotificationConfig: { url } })
    t.match(set, { error: { code: -32602, message: /url: / } }, url)
    const params = { ...sayV1('x'), configuration: { taskPushNotificationConfig: { url } } }
    t.match(await app.rpc('SendMessage', params), { error: { code: -32602 } }, `${url}, with a message`)
  }
  t.equal((await app.runs.list({ limit: 99 })).runs.length, 1, 'nothing was started')
  t.match(await app.rpc('CreateTaskPushNotificationConfig', { taskId, url: 'https://example.org/' }), {
    result: { url: 'https://example.org/' }
  })
})

t.test('a name that resolves to one address that is not public is refused at registration', async (t) => {
  for (const addresses of [
    ['127.0.0.1'],
    ['93.184.215.14', '10.0.0.1'],
    ['::1'],
    ['::ffff:169.254.169.254'],
    []
  ]) {
    const app = await buildApp(t, { options: { pushNotifications: { lookup: resolving(...addresses) } } })
    const { id: taskId } = (await app.rpc('message/send', say('x'))).result
    const made = await app.rpc('CreateTaskPushNotificationConfig', { taskId, url: 'https://example.org/' })
    t.match(made, { error: { code: -32602 } }, addresses.join())
  }
})

t.test('a name that resolves to a private address later is refused at the connection', async (t) => {
  const receiver = await createReceiver(t)
  const waiting = createWaiting()
  let lookups = 0
  const refused = Promise.withResolvers<void>()
  const app = await buildApp(t, {
    runnables: [waiting.runnable],
    options: {
      pushNotifications: {
        lookup: async () => [{ address: ++lookups === 1 ? '93.184.215.14' : '127.0.0.1', family: 4 }]
      }
    },
    fastify: {
      logger: {
        level: 'warn',
        stream: { write: (line: string) => line.includes('"outcome":"refused"') && refused.resolve() }
      }
    }
  })
  const { result } = await app.rpc('SendMessage', {
    ...sayV1('x'),
    configuration: {
      returnImmediately: true,
      taskPushNotificationConfig: { url: `http://rebind.example.org:${receiver.port}/` }
    }
  })
  t.ok(result.task.id)
  await refused.promise
  t.ok(lookups >= 2)
  t.same(receiver.all, [])
})

t.test('a redirect is not followed', async (t) => {
  const inner = await createReceiver(t)
  const outer = await createReceiver(t, () => ({ status: 307, location: inner.url }))
  const waiting = createWaiting()
  const app = await buildApp(t, {
    runnables: [waiting.runnable],
    options: { pushNotifications: { allowPrivate: true, backoff: 5 } }
  })
  await app.rpc('SendMessage', {
    ...sayV1('x'),
    configuration: { returnImmediately: true, taskPushNotificationConfig: { url: outer.url } }
  })
  waiting.goOn()
  await outer.until(3)
  t.same(inner.all, [])
  t.equal(
    new Set(outer.all.map(({ body }) => JSON.stringify(body))).size,
    outer.all.length,
    'nor tried again'
  )
})
