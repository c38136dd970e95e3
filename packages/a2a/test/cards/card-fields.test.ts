import { buildAgentCard, type A2aOptions } from '@svc/a2a'
import { grpcBinding } from '@svc/a2a/grpc'
import t from 'tap'
import { buildApp, echo } from '../helpers/build-app.ts'
import { createEcKey } from '../helpers/card-keys.ts'
import { faultsOf } from '../helpers/published/faults-of.ts'

const CARD = '/.well-known/agent-card.json'
const url = 'https://agents.example.org/a2a'
const schemes = {
  bearer: { type: 'http', scheme: 'bearer' },
  key: { type: 'apiKey', in: 'header', name: 'x-key' },
  oauth: {
    type: 'oauth2',
    flows: { clientCredentials: { tokenUrl: 'https://x/', scopes: { read: 'Reads' } } }
  }
}
const authenticate = Object.assign(() => ({ sub: 'me', scopes: [] }), { schemes })
const security = [{ bearer: [], key: [] }, { oauth: ['read'] }]
const securityRequirements = [
  { schemes: { bearer: { list: [] }, key: { list: [] } } },
  { schemes: { oauth: { list: ['read'] } } }
]

async function cardsOf(t: Parameters<typeof buildApp>[0], options: A2aOptions, path = CARD) {
  const { app } = await buildApp(t, { runnables: [echo], options: { url, authenticate, ...options } })
  const get = async (headers = {}) =>
    (await app.inject({ url: path, headers })).json<Record<string, unknown>>()
  return { both: await get(), pure: await get({ 'a2a-version': '1.0' }) }
}

t.test('the credentials that suffice', async (t) => {
  const { both, pure } = await cardsOf(t, { security })
  t.match(both, { security, securityRequirements })
  t.match(pure, { securityRequirements })
  t.same(faultsOf('1.0', 'AgentCard', pure), [])
  t.same((both['security'] as object[]).length, 2)
  const { both: legacy } = await cardsOf(t, { security, versions: ['0.3'] })
  t.match(legacy, { security })
  t.same(faultsOf('0.3', 'AgentCard', legacy), [])
  const { app } = await buildApp(t, {
    options: { url, authenticate, security, extendedCard: (card) => card }
  })
  t.match((await app.inject('/a2a/v1/card')).json(), { security: securityRequirements })
  const built = buildAgentCard({ kind: 'agent', name: 'a' }, url, undefined, {
    securitySchemes: schemes,
    security
  })
  t.match(built, { security, securityRequirements })
  t.throws(() => buildAgentCard({ kind: 'agent', name: 'a' }, url, undefined, { security }), {
    message: /facts\/security\/0: no security scheme "bearer"; known: none/
  })
  t.match((await cardsOf(t, { security: [] })).both, { security: [], securityRequirements: [] })
})

t.test('the preferred binding comes first, in every version', async (t) => {
  const { both, pure } = await cardsOf(t, { preferredBinding: 'HTTP+JSON', basePath: '/a2a' })
  t.match(both, {
    preferredTransport: 'HTTP+JSON',
    url,
    additionalInterfaces: [{ transport: 'HTTP+JSON' }, { transport: 'JSONRPC' }]
  })
  const bindings = (pure['supportedInterfaces'] as Record<string, unknown>[]).map(
    ({ protocolBinding, protocolVersion }) => `${String(protocolBinding)} ${String(protocolVersion)}`
  )
  t.same(bindings, ['HTTP+JSON 1.0', 'JSONRPC 1.0', 'HTTP+JSON 0.3', 'JSONRPC 0.3'])
})

t.test('interfaces that something else serves come last, on the card of the service alone', async (t) => {
  const additionalInterfaces = [
    { url: 'https://other.example/a2a', protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
    { url: 'other.example:443', protocolBinding: 'GRPC', protocolVersion: '1.0' }
  ]
  const { both, pure } = await cardsOf(t, { additionalInterfaces })
  t.same((pure['supportedInterfaces'] as object[]).slice(4), additionalInterfaces)
  t.same((both['additionalInterfaces'] as object[]).slice(2), [
    { url: 'https://other.example/a2a', transport: 'JSONRPC' }
  ])
  t.same(faultsOf('1.0', 'AgentCard', pure), [])
  for (const path of [`/a2a/echo${CARD}`, `/a2a/agents/echo${CARD}`])
    t.notMatch(JSON.stringify(await cardsOf(t, { additionalInterfaces }, path)), /other\.example/)
})

t.test('with a public URL, no address on a card is that of a request', async (t) => {
  const { privateKey, kid } = createEcKey()
  const grpc = grpcBinding({ host: '0.0.0.0', port: 0 })
  const { app } = await buildApp(t, { options: { url, signCard: { key: privateKey, kid }, grpc } })
  const { body } = await app.inject({ url: CARD, headers: { host: 'evil.example' } })
  t.notMatch(body, /evil/)
  t.match(body, /"agents\.example\.org:\d+"/)
})
