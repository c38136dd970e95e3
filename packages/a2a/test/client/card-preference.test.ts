import { remoteAgent, type RemoteTransport } from '@svc/a2a'
import { createContext } from '@svc/registry'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'

const V1 = { protocolVersion: '1.0' }
const V03 = { protocolVersion: '0.3' }
const RPC = { protocolBinding: 'JSONRPC' }
const REST = { protocolBinding: 'HTTP+JSON' }

/** Calls a service with this card, and returns the first path and method of the requests that follow. */
async function firstRequest(t: Test, card: object, more: object = {}): Promise<string> {
  const asked: string[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    if (request.url!.includes('.well-known')) return response.end(JSON.stringify(card))
    const { method } = (body === '' ? {} : JSON.parse(body)) as { method?: string }
    asked.push([request.url, method].filter(Boolean).join(' '))
    return response.writeHead(400).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await t.rejects(remoteAgent({ url, ...more }).run('x', createContext()), { code: 'A2A_ERR_REMOTE' })
  return asked[0]!
}

t.test('a card of 1.0: the first interface that can be used', async (t) => {
  const cases: [supportedInterfaces: object[], asked: string][] = [
    [
      [
        { ...V1, ...RPC, url: '/a' },
        { ...V1, ...REST, url: '/b' }
      ],
      '/a SendMessage'
    ],
    [
      [
        { ...V1, ...REST, url: '/b' },
        { ...V1, ...RPC, url: '/a' }
      ],
      '/b/message:send'
    ],
    [[{ ...V1, ...REST, url: '/b/?key=1', tenant: 'x y' }], '/b/x%20y/message:send?key=1'],
    [
      [
        { ...V03, ...REST, url: '/b', tenant: 'x' },
        { ...V1, ...RPC, url: '/a' }
      ],
      '/b/v1/message:send'
    ],
    [
      [
        { ...V1, protocolBinding: 'GRPC', url: '/g' },
        { ...V1, ...REST, url: '/b' }
      ],
      '/b/message:send'
    ],
    [
      [
        { ...V1, ...RPC, protocolVersion: '2.0', url: '/a' },
        { ...V1, ...REST, url: '/b' }
      ],
      '/b/message:send'
    ],
    [[{ ...V1, ...RPC, protocolVersion: '1.0.1', url: '/a' }], '/a SendMessage'],
    [
      [
        { ...V1, ...RPC, url: 'https://example.org/' },
        { ...V1, ...REST, url: '/b' }
      ],
      '/b/message:send'
    ]
  ]
  for (const [supportedInterfaces, asked] of cases)
    t.equal(await firstRequest(t, { supportedInterfaces }), asked)
})

t.test('an older card: its preferred transport, then the additional ones', async (t) => {
  const additionalInterfaces = [
    { url: '/a', transport: 'JSONRPC' },
    { url: '/b', transport: 'HTTP+JSON' }
  ]
  const cases: [card: object, asked: string][] = [
    [{ url: '/a' }, '/a message/send'],
    [{ url: '/b', preferredTransport: 'HTTP+JSON', additionalInterfaces }, '/b/v1/message:send'],
    [{ url: '/g', preferredTransport: 'GRPC', additionalInterfaces }, '/a message/send'],
    [{ url: '/a', preferredTransport: 'JSONRPC', additionalInterfaces }, '/a message/send'],
    [{ url: null, additionalInterfaces: [additionalInterfaces[1]] }, '/b/v1/message:send']
  ]
  for (const [card, asked] of cases) t.equal(await firstRequest(t, card), asked)
})

t.test('`binding` decides among those of the card, and without a card', async (t) => {
  const supportedInterfaces = [
    { ...V1, ...RPC, url: '/a' },
    { ...V1, ...REST, url: '/b' }
  ]
  t.equal(await firstRequest(t, { supportedInterfaces }, { binding: 'HTTP+JSON' }), '/b/message:send')
  t.equal(await firstRequest(t, {}, { version: '1.0' }), '/ SendStreamingMessage')
  t.equal(await firstRequest(t, {}, { version: '1.0', binding: 'HTTP+JSON' }), '/message:stream')
  t.equal(await firstRequest(t, {}, { version: '0.3', binding: 'HTTP+JSON' }), '/v1/message:stream')
  t.throws(() => remoteAgent({ url: 'http://127.0.0.1:1', binding: 'GRPC' }), {
    code: 'A2A_ERR_BAD_OPTION',
    message: /binding: no transport speaks "GRPC"/
  })
})

t.test('a transport of another binding', async (t) => {
  const sent: unknown[] = []
  const carrier: RemoteTransport = {
    binding: 'PIGEON',
    form: 'rest',
    hasOwnPort: true,
    locate: (given, base) => URL.parse(`http://${base.hostname}:${given}`),
    async call({ operation, url, version, tenant, params, headers }) {
      sent.push({ operation, url, version, tenant, params, headers })
      return { task: { id: 't', contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' }, artifacts } }
    },
    async *stream() {}
  }
  const artifacts = [{ artifactId: 'a', parts: [{ text: 'coo' }] }]
  const server = createServer((_request, response) => {
    const supportedInterfaces = [
      { ...V1, protocolBinding: 'PIGEON', url: '7', tenant: 'x' },
      { ...V1, ...RPC, url: '/' }
    ]
    response.end(JSON.stringify({ supportedInterfaces }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const agent = remoteAgent({
    url,
    transports: [carrier],
    token: 'key',
    extensions: ['https://example.org/e']
  })
  t.match(await agent.run('x', createContext()), { text: 'coo' })
  t.match(sent, [
    {
      operation: 'send',
      url: 'http://127.0.0.1:7/',
      version: '1.0',
      tenant: 'x',
      params: { tenant: 'x', message: { role: 'ROLE_USER', parts: [{ text: 'x' }] } },
      headers: {
        'a2a-version': '1.0',
        'a2a-extensions': 'https://example.org/e',
        authorization: 'Bearer key'
      }
    }
  ])
})
