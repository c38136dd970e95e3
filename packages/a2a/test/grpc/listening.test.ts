import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import a2a, { remoteAgent } from '@svc/a2a'
import { ChannelCredentials, ServerCredentials, status } from '@grpc/grpc-js'
import { grpcBinding, grpcTransport } from '@svc/a2a/grpc'
import { createContext, type RunnableDefinition } from '@svc/registry'
import Fastify from 'fastify'
import { generate } from 'selfsigned'
import t from 'tap'
import { buildApp, echo, sayV1 } from '../helpers/build-app.ts'
import { connectGrpc, failureOf, grpcUrlOf } from '../helpers/grpc-client.ts'

interface Card {
  supportedInterfaces: { url: string; protocolBinding: string; protocolVersion: string; tenant?: string }[]
  additionalInterfaces: { url: string; transport: string }[]
}

async function cardOf(url: string, headers = {}): Promise<Card> {
  return (await (await fetch(`${url}/.well-known/agent-card.json`, { headers })).json()) as Card
}

t.test('the card lists the port, in every version and for tenants', async (t) => {
  const { origin, url } = await buildApp(t, { options: { grpc: grpcBinding({ port: 0 }) } })
  const { supportedInterfaces, additionalInterfaces } = await cardOf(origin)
  const listed = supportedInterfaces.filter(({ protocolBinding }) => protocolBinding === 'GRPC')
  t.same(
    listed.map(({ protocolVersion }) => protocolVersion),
    ['1.0', '0.3']
  )
  const [{ url: at } = { url: '' }] = listed
  t.match(at, /^127\.0\.0\.1:\d+$/)
  t.same(additionalInterfaces.at(-1), { url: at, transport: 'GRPC' })
  t.same((await cardOf(`${url}/echo`)).supportedInterfaces.at(-1), {
    url: at,
    protocolBinding: 'GRPC',
    protocolVersion: '1.0',
    tenant: 'echo'
  })
  const without = await buildApp(t)
  t.notMatch(JSON.stringify(await cardOf(without.origin)), 'GRPC')
})

t.test(
  'the address on the card: of the option, or the host at which the client reached the app',
  async (t) => {
    const urlOf = async (options: object, hostname: string) => {
      const { origin } = await buildApp(t, { options: { grpc: grpcBinding({ port: 0, ...options }) } })
      const url = await grpcUrlOf(origin.replace('127.0.0.1', hostname))
      return url.replace(/:\d{4,5}$/, ':PORT')
    }
    t.equal(await urlOf({ url: 'agents.example.org:443' }, '127.0.0.1'), 'agents.example.org:443')
    t.equal(await urlOf({ host: '0.0.0.0' }, 'localhost'), 'localhost:PORT')
    t.equal(await urlOf({ host: '127.0.0.1' }, 'localhost'), '127.0.0.1:PORT')
  }
)

t.test('files of tasks have URLs at the endpoint of HTTP', async (t) => {
  const maker: RunnableDefinition = {
    kind: 'agent',
    name: 'maker',
    async *stream(_input, { runId, stores }) {
      const { createdAt: _, ...kept } = await stores.files!.put(runId, {
        mimeType: 'text/csv',
        filename: 'a.csv',
        content: Buffer.from('a,b')
      })
      yield { type: 'file', ...kept }
    }
  }
  const { origin, url } = await buildApp(t, {
    runnables: [maker],
    options: { grpc: grpcBinding({ port: 0 }) }
  })
  const client = connectGrpc(t, await grpcUrlOf(origin))
  const fileOf = (answer: object) => /"(http[^"]*\/files\/[^"]*)"/.exec(JSON.stringify(answer))?.[1] ?? ''
  const found = fileOf(await client.call('SendMessage', sayV1('x')))
  t.ok(found.startsWith(`${url}/tasks/`), found)
  t.equal(await (await fetch(found)).text(), 'a,b')
  t.match(fileOf(await client.stream('SendStreamingMessage', sayV1('x'))), url)

  const behind = await buildApp(t, {
    runnables: [maker],
    options: { grpc: grpcBinding({ port: 0 }), url: 'https://agents.example.org/a2a' }
  })
  const other = connectGrpc(t, await grpcUrlOf(behind.origin))
  t.match(
    fileOf(await other.call('SendMessage', sayV1('x'))),
    /^https:\/\/agents\.example\.org\/a2a\/tasks\//
  )
})

t.test('a port that is taken, and keys that are none, fail the start', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.teardown(() => taken.close())
  const { port } = taken.address() as AddressInfo
  for (const grpc of [
    grpcBinding({ port }),
    grpcBinding({ port: 0, credentials: { key: 'x', cert: 'y' } })
  ]) {
    const app = Fastify()
    await app.register(a2a, { agents: [echo], grpc })
    await t.rejects(app.listen({ port: 0 }), { code: 'A2A_ERR_GRPC_LISTEN', message: /127\.0\.0\.1:\d+/ })
    await app.close()
  }
})

t.test('an app that is not listening serves gRPC once it is ready, and closes its port', async (t) => {
  const app = Fastify()
  await app.register(a2a, { agents: [echo], grpc: grpcBinding({ port: 0 }) })
  await app.ready()
  const card = (await app.inject('/.well-known/agent-card.json')).json<Card>()
  const { url } = card.supportedInterfaces.find(({ protocolBinding }) => protocolBinding === 'GRPC')!
  const client = connectGrpc(t, url)
  t.match(await client.call('SendMessage', sayV1('x')), { task: {} })
  await app.close()
  t.equal((await failureOf(client.call('SendMessage', sayV1('x')))).code, status.UNAVAILABLE)
})

t.test('TLS, and certificates of clients', async (t) => {
  const issue = (commonName: string) =>
    generate([{ name: 'commonName', value: commonName }], {
      keySize: 2048,
      extensions: [
        { name: 'basicConstraints', cA: true },
        {
          name: 'subjectAltName',
          altNames: [
            { type: 2, value: 'localhost' },
            { type: 7, ip: '127.0.0.1' }
          ]
        }
      ]
    })
  const [{ private: key, cert }, known] = await Promise.all([issue('localhost'), issue('client')])
  const credentials = { key, cert }
  const { origin } = await buildApp(t, { options: { grpc: grpcBinding({ port: 0, credentials }) } })
  const url = await grpcUrlOf(origin)
  const trusting = ChannelCredentials.createSsl(Buffer.from(cert))
  t.match(await connectGrpc(t, url, '1.0', trusting).call('SendMessage', sayV1('x')), { task: {} })
  t.equal(
    (await failureOf(connectGrpc(t, url).call('ListTasks', {}))).code,
    status.UNAVAILABLE,
    'without TLS'
  )

  const far = { url: origin, binding: 'GRPC' }
  const transports = [grpcTransport({ credentials: { ca: cert } })]
  t.match(await remoteAgent({ ...far, transports }).run('hello', createContext()), { text: 'hello' })
  await t.rejects(
    remoteAgent({ ...far, transports: [grpcTransport({ credentials: {} })] }).run('x', createContext()),
    {
      code: 'A2A_ERR_REMOTE',
      message: /cannot be reached/
    }
  )

  const pairs = [{ private_key: Buffer.from(key), cert_chain: Buffer.from(cert) }]
  for (const mutual of [
    { key, cert, ca: known.cert },
    ServerCredentials.createSsl(Buffer.from(known.cert), pairs, true)
  ]) {
    const strict = await buildApp(t, { options: { grpc: grpcBinding({ port: 0, credentials: mutual }) } })
    const ask = (more: object) =>
      remoteAgent({
        url: strict.origin,
        binding: 'GRPC',
        transports: [grpcTransport({ credentials: { ca: cert, ...more } })]
      }).run('hello', createContext())
    await t.rejects(ask({}), { code: 'A2A_ERR_REMOTE' })
    t.match(await ask({ key: known.private, cert: known.cert }), { text: 'hello' })
  }
})
