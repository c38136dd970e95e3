import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  buildAgentCard,
  remoteAgent,
  signAgentCard,
  type RemoteAgentOptions,
  type VerifyCard
} from '@svc/a2a'
import t, { type Test } from 'tap'
import { createEcKey } from '../helpers/card-keys.ts'

const pair = createEcKey()
const signCard = { key: pair.privateKey, kid: pair.kid }
const keys = [pair.jwk]
const token = 'a-token'

const answer = {
  id: 't',
  contextId: 'c',
  status: { state: 'TASK_STATE_COMPLETED' },
  artifacts: [{ artifactId: 'a', parts: [{ text: 'Yes.' }] }]
}

/** A service with a card; the paths to which it was sent credentials, besides that of the card. */
async function serve(t: Test, change: (card: object, url: string) => Promise<object> | object) {
  let card: object = {}
  const called: string[] = []
  const server = createServer((request, response) => {
    const isCard = request.url!.startsWith('/.well-known/')
    if (!isCard) called.push(`${request.method} ${request.url} ${request.headers.authorization}`)
    request.resume().on('end', () => {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(isCard ? card : { jsonrpc: '2.0', id: 1, result: { task: answer } }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const built = buildAgentCard({ kind: 'agent', name: 'ada' }, `${url}rpc`)
  card = await change({ ...built, capabilities: { streaming: false } }, url)
  const run = (verify: VerifyCard) => remoteAgent({ url, token, verify }).run('x')
  return { url, called, run }
}

t.test('a card with a valid signature is used', async (t) => {
  const { called, run } = await serve(t, (card) => signAgentCard(card, signCard))
  for (const verify of [{ keys }, () => true]) t.match(await run(verify), { text: 'Yes.' })
  t.same(called, ['POST /rpc Bearer a-token', 'POST /rpc Bearer a-token'])
})

t.test('no request and no credentials reach the endpoint of a card that is not trusted', async (t) => {
  const cases: [name: string, change: Parameters<typeof serve>[1], verify?: VerifyCard][] = [
    ['unsigned', (card) => card],
    ['another key', (card) => signAgentCard(card, { ...signCard, key: createEcKey().privateKey })],
    ['changed', async (card) => ({ ...(await signAgentCard(card, signCard)), description: 'x' })],
    ['refused by a function', (card) => signAgentCard(card, signCard), () => false],
    ['a list of the wrong kind', (card) => ({ ...card, signatures: 'x' })]
  ]
  for (const [name, change, verify = { keys }] of cases) {
    const { called, run } = await serve(t, change)
    const refused = { code: 'A2A_ERR_BAD_CARD', retryable: false, statusCode: 502 }
    await t.rejects(run(verify), refused, name)
    t.same(called, [], name)
  }
})

t.test('an endpoint that no signature covers is not used', async (t) => {
  const { called, run } = await serve(t, async (given, url) => {
    const { name, description, version, supportedInterfaces } = given as Record<string, unknown>
    const card = { name, description, version, supportedInterfaces, capabilities: {}, skills: [] }
    return {
      ...(await signAgentCard(card, signCard)),
      url: `${url}evil`,
      preferredTransport: 'JSONRPC',
      protocolVersion: '0.3.0'
    }
  })
  t.match(await run({ keys }), { text: 'Yes.' })
  t.same(called, ['POST /rpc Bearer a-token'])
})

t.test('keys that cannot be fetched are a fault that may pass', async (t) => {
  const { called, run } = await serve(t, (card) => signAgentCard(card, signCard))
  await t.rejects(run({ keys: 'http://127.0.0.1:9/jwks' }), {
    code: 'A2A_ERR_REMOTE',
    message: /keys of its card/
  })
  t.same(called, [])
})

t.test('an unsigned card passes where no signature is required', async (t) => {
  const { run } = await serve(t, (card) => card)
  t.match(await run({ keys, required: false }), { text: 'Yes.' })
})

t.test('bad options are refused', async (t) => {
  const cases: [options: object, fault: RegExp][] = [
    [{ verify: {} }, /verify: it needs keys/],
    [{ verify: { required: true } }, /verify: it needs keys/],
    [{ verify: { keys: [] } }, /verify/],
    [{ verify: { keys: ['x'] } }, /verify/],
    [{ verify: { keys: 'http://example.org/jwks' } }, /verify/],
    [{ verify: { jku: ['https://'] } }, /verify/],
    [{ verify: { keys, algorithms: ['none'] } }, /verify/],
    [{ verify: { keys, algorithms: ['HS256'] } }, /verify/],
    [{ verify: { keys, algorithms: [] } }, /verify/],
    [{ verify: { keys, extra: 1 } }, /verify/],
    [{ verify: 'yes' }, /verify/],
    [{ verify: { keys }, version: '1.0' }, /verify: it needs the card/]
  ]
  for (const [options, message] of cases)
    t.throws(
      () => remoteAgent({ url: 'https://example.org', ...options } as RemoteAgentOptions),
      { code: 'A2A_ERR_BAD_OPTION', message },
      JSON.stringify(options)
    )
})
