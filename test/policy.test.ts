import { join } from 'node:path'
import a2a from '@svc/a2a'
import gateway, { type GatewayOptions } from '@svc/gateway'
import http, { type HttpOptions } from '@svc/http'
import registryPlugin, {
  createRegistry,
  defineRunnable,
  type Authenticate,
  type Authorize,
  type RegistryPluginOptions
} from '@svc/registry'
import { Team, Workflow } from '@svc/runtime'
import store from '@svc/store'
import t from 'tap'
import { serve, until, type Served } from './helpers/serve.ts'

const callers = new Map([
  ['ann', { sub: 'ann', scopes: ['payroll:use'] }],
  ['bob', { sub: 'bob', scopes: [] }],
  ['root', { sub: 'root', scopes: ['admin:*'] }]
])
const schemes = { bearerAuth: { type: 'http', scheme: 'bearer' } }
const authenticate: Authenticate = Object.assign(
  ({ token }: { token?: string }) => {
    if (token === undefined) return null
    const caller = callers.get(token)
    if (caller === undefined) throw new Error(`nobody has the token ${token}`)
    return caller
  },
  { schemes }
)
const authorize: Authorize = ({ scopes }, action, { name }) => {
  if (name === 'closed') return { allowed: false }
  if (name !== 'payroll' || action !== 'run' || scopes.includes('payroll:use')) return { allowed: true }
  return { allowed: false, missing: 'payroll:use' }
}

const agents = ['open', 'payroll', 'closed'].map((name) =>
  defineRunnable({ kind: 'agent', name, run: (_input, { principal }) => principal.sub })
)

/** The options of each surface and of the registry, whose policy is the app's. */
interface Options {
  registry?: RegistryPluginOptions
  http?: HttpOptions
  gateway?: GatewayOptions
  a2a?: Pick<HttpOptions, 'authenticate' | 'authorize'>
}

function serveAll(t: Parameters<typeof serve>[0], options: Options): Promise<Served> {
  return serve(t, async (app) => {
    const registry = createRegistry()
    for (const agent of agents) registry.add(agent)
    await app.register(registryPlugin, { registry, ...options.registry })
    await app.register(http, { prefix: '/api', ...options.http })
    await app.register(gateway, { asyncApi: { path: '/asyncapi.json' }, ...options.gateway })
    await app.register(a2a, { basePath: '/a2a', ...options.a2a })
  })
}

const bearer = (token?: string) => (token === undefined ? {} : { authorization: `Bearer ${token}` })

/** Starts a run on each surface; returns its owner, or the error code without the surface's prefix. */
async function runEverywhere(served: Served, token: string | undefined, name: string): Promise<string[]> {
  const { body } = await served.ask('POST', `/api/agents/${name}/run`, { input: 'x' }, bearer(token))
  return [
    codeIn(body) ?? body.text,
    await runOnSocket(served, token, name),
    await runOnA2a(served, token, name)
  ]
}

async function runOnSocket(served: Served, token: string | undefined, name: string): Promise<string> {
  try {
    const { socket, ask } = await served.connect('/', { token })
    const done = new Promise<{ output: { text: string } }>((resolve) => socket.once('agent.done', resolve))
    const answer = await ask('agent.run', { name, input: 'x' })
    return codeIn(answer) ?? (await done).output.text
  } catch (err) {
    return codeIn((err as { data: object }).data)!
  }
}

async function runOnA2a(served: Served, token: string | undefined, name: string): Promise<string> {
  const parts = [{ kind: 'text', text: 'x' }]
  const message = {
    kind: 'message',
    messageId: `${token} ${name}`,
    role: 'user',
    parts,
    metadata: { agentName: name }
  }
  const request = { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } }
  const { status, body, headers } = await served.ask('POST', '/a2a', request, bearer(token))
  if (body.result !== undefined)
    return body.result.status.message?.parts[0].text ?? body.result.artifacts[0].parts[0].text
  const challenge = headers.get('www-authenticate') ?? ''
  if (challenge.includes('invalid_token')) return 'INVALID_TOKEN'
  if (challenge.includes('scope="')) return 'MISSING_SCOPE'
  return status === 401 ? 'NO_TOKEN' : status === 403 ? 'FORBIDDEN' : String(status)
}

function codeIn({ code }: { code?: string }): string | undefined {
  return code?.replace(/^[A-Z]+_ERR_/, '')
}

t.test('the policy of the registry applies to every surface', async (t) => {
  const served = await serveAll(t, { registry: { authenticate, authorize } })
  const cases: [token: string | undefined, name: string, wanted: string][] = [
    ['ann', 'open', 'ann'],
    ['ann', 'payroll', 'ann'],
    ['ann', 'closed', 'FORBIDDEN'],
    ['bob', 'open', 'bob'],
    ['bob', 'payroll', 'MISSING_SCOPE'],
    [undefined, 'open', 'NO_TOKEN'],
    ['eve', 'open', 'INVALID_TOKEN']
  ]
  for (const [token, name, wanted] of cases)
    t.same(await runEverywhere(served, token, name), [wanted, wanted, wanted], `${token} runs ${name}`)
})

t.test('with the policy of the registry only administrators may set another `userId`', async (t) => {
  const served = await serveAll(t, { registry: { authenticate, authorize } })
  for (const [token, userId, wanted] of [
    ['ann', 'ann', undefined],
    ['ann', 'bob', 'FOREIGN_USER'],
    ['root', 'bob', undefined]
  ] as const) {
    const body = { input: 'x', userId }
    const answer = await served.ask('POST', '/api/agents/open/run', body, bearer(token))
    t.equal(codeIn(answer.body), wanted, 'HTTP')
    const { ask } = await served.connect('/', { token })
    t.equal(codeIn(await ask('agent.run', { name: 'open', ...body })), wanted, 'sockets')
  }
})

t.test(
  'a surface without authentication cannot use sessions of users that another surface authenticates',
  async (t) => {
    const policies: Options[] = [
      { registry: { authenticate }, gateway: { authenticate: false } },
      { http: { authenticate } }
    ]
    for (const options of policies) {
      const served = await serveAll(t, options)
      const { ask } = await served.connect()
      const run = { name: 'open', input: 'x', sessionId: 's' }
      t.match(await ask('agent.run', { ...run, userId: 'ann' }), { code: 'GTW_ERR_FOREIGN_USER' })
      t.equal(codeIn(await ask('agent.run', run)), undefined)
    }
    const open = await serveAll(t, {})
    t.match(await open.ask('POST', '/api/agents/open/run', { input: 'x', userId: 'ann' }), { status: 200 })
  }
)

t.test('the policy of the registry counts as authentication', async (t) => {
  const served = await serveAll(t, { registry: { authenticate }, http: { rbac: {} } })
  const asRoot = bearer('root')
  t.match(await served.ask('GET', '/api/admin/runs', undefined, asRoot), { status: 200 })
  t.match(await served.ask('GET', '/api/agents', undefined, bearer('bob')), {
    status: 403,
    body: { code: 'HTTP_ERR_MISSING_SCOPE' }
  })
  const { body: card } = await served.ask('GET', '/a2a/.well-known/agent-card.json')
  t.match(card, { securitySchemes: { bearerAuth: {} } })
  const { body: events } = await served.ask('GET', '/asyncapi.json')
  t.same(events.components.securitySchemes, schemes)
})

t.test('an own option of a surface overrides the policy of the registry', async (t) => {
  const asGuest: Authenticate = () => ({ sub: 'guest', scopes: [] })
  const openAll: Authorize = () => ({ allowed: true })
  const policy = { authenticate, authorize }
  const outcomes: [own: Pick<HttpOptions, 'authenticate' | 'authorize'>, name: string, wanted: string][] = [
    [{ authenticate: asGuest }, 'open', 'guest'],
    [{ authenticate: asGuest }, 'closed', 'FORBIDDEN'],
    [{ authenticate: asGuest, authorize: openAll }, 'closed', 'guest'],
    [{ authenticate: false }, 'open', 'anonymous'],
    [{ authenticate: false }, 'payroll', 'MISSING_SCOPE'],
    [{ authenticate: asGuest, authorize: false }, 'closed', 'guest'],
    [{ authenticate: false, authorize: false }, 'closed', 'anonymous']
  ]
  for (const [own, name, wanted] of outcomes) {
    const served = await serveAll(t, { registry: policy, http: own, gateway: own, a2a: own })
    const label = `${Object.entries(own)
      .map(([key, value]) => `${key} ${typeof value}`)
      .join()}: ${name}`
    t.same(await runEverywhere(served, undefined, name), [wanted, wanted, wanted], label)
    await served.app.close()
  }
  const served = await serveAll(t, { registry: policy, gateway: { authenticate: asGuest } })
  t.same(
    await runEverywhere(served, undefined, 'open'),
    ['NO_TOKEN', 'guest', 'NO_TOKEN'],
    'one surface alone'
  )
})

t.test('an option that requires authentication accepts that of the registry', async (t) => {
  for (const own of [{ rbac: {} }, { admin: true }] as const) {
    await t.rejects(serveAll(t, { http: own }), { code: 'HTTP_ERR_BAD_OPTION' })
    await t.rejects(serveAll(t, { registry: { authenticate }, http: { ...own, authenticate: false } }), {
      code: 'HTTP_ERR_BAD_OPTION'
    })
    await t.resolves(serveAll(t, { registry: { authenticate }, http: own }))
  }
  await t.rejects(serveAll(t, { a2a: { authorize } }), { code: 'A2A_ERR_BAD_OPTION' })
  await t.resolves(serveAll(t, { registry: { authenticate }, a2a: { authorize } }))
})

t.test('a run resumes under the policy of the registry', async (t) => {
  const member = defineRunnable({ kind: 'agent', name: 'payroll', run: () => 'paid' })
  const crew = new Team({
    name: 'crew',
    mode: 'sequence',
    members: [member],
    delegates: false,
    register: false
  })
  const flowOf = () =>
    new Workflow({
      name: 'flow',
      register: false,
      steps: (flow) => flow.wait('review', { approval: {} }).step('crew', crew)
    })
  const cases: [token: string, isServed: boolean, wanted: string][] = [
    ['ann', true, 'completed'],
    ['bob', true, 'failed'],
    ['ann', false, 'completed'],
    ['bob', false, 'failed']
  ]
  for (const [token, isServed, wanted] of cases) {
    const url = `sqlite:${join(t.testdir({}), 'app.db')}`
    const start = (prefix: string) =>
      serve(t, async (app) => {
        const registry = createRegistry()
        registry.add(flowOf())
        await app.register(store, { url })
        await app.register(registryPlugin, { registry, authenticate, authorize })
        await app.register(http, { prefix })
      })
    const first = await start('/api')
    const headers = { ...bearer(token), prefer: 'respond-async' }
    const { body } = await first.ask('POST', '/api/workflows/flow/run', { input: 'x' }, headers)
    const prefix = isServed ? '/api' : '/moved'
    const look = (served: Served, at: string) => () =>
      served.ask('GET', `${at}/runs/${body.runId}`, undefined, bearer(token))
    await until(look(first, '/api'), (answer) => answer.body.status === 'input-required')
    await first.app.close()

    const second = await start(prefix)
    await second.ask('POST', `${prefix}/approvals/${body.runId}.1`, { approved: true }, bearer(token))
    const ended = await until(look(second, prefix), ({ body: run }) =>
      ['completed', 'failed'].includes(run.status)
    )
    t.equal(
      ended.body.status,
      wanted,
      `${token}, ${isServed ? 'its surface is there' : 'its surface is gone'}`
    )
    await second.app.close()
  }
})
