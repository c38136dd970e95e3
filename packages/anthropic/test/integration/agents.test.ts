import { scriptedRunnable } from '@svc/testing'
import t from 'tap'
import { readAll, refusalOf, sessionsApp } from '../helpers/sessions-app.ts'

const runnables = [
  scriptedRunnable([{ type: 'text', text: 'Hello' }], { name: 'support' }),
  scriptedRunnable([{ type: 'text', text: 'Hello' }], { name: 'billing' }),
  scriptedRunnable([{ type: 'text', text: 'Hello' }], { kind: 'team', name: 'desk' })
]

t.test('the list, page by page, and one agent', async (t) => {
  const { client } = await sessionsApp(t, { runnables })
  const all = await readAll(client.beta.agents.list({ limit: 1 }))
  t.same(
    all.map(({ id }) => id),
    ['support', 'billing', 'team/desk']
  )
  const agent = await client.beta.agents.retrieve('team/desk', { version: 1 })
  t.match(agent, { id: 'team/desk', type: 'agent', version: 1, name: 'desk', archived_at: null })
  t.same(await readAll(client.beta.agents.versions.list('support')), [
    await client.beta.agents.retrieve('support')
  ])
  t.same((await client.beta.agents.list({ 'created_at[gte]': '2026-01-01T00:00:00Z' })).data, [])
})

t.test('what is not there, in the shape of the protocol', async (t) => {
  const { client, origin } = await sessionsApp(t, { runnables })
  t.equal(await refusalOf(client.beta.agents.retrieve('nobody')), '404 ANTHROPIC_ERR_UNKNOWN_AGENT')
  const second = client.beta.agents.retrieve('support', { version: 2 })
  t.equal(await refusalOf(second), '404 ANTHROPIC_ERR_UNKNOWN_VERSION')
  const foreign = (await client.beta.agents.list({ limit: 1 })).next_page
  t.equal(
    await refusalOf(client.beta.agents.versions.list('support', { page: foreign })),
    '400 ANTHROPIC_ERR_BAD_PAGE'
  )
  t.equal(await refusalOf(client.beta.agents.list({ page: 'bm90IGpzb24' })), '400 ANTHROPIC_ERR_BAD_PAGE')
  const response = await fetch(`${origin}/managed/v1/agents/nobody`, {
    headers: { 'anthropic-beta': 'managed-agents-2026-04-01' }
  })
  const body = (await response.json()) as { request_id: string }
  t.match(body, {
    type: 'error',
    error: {
      type: 'not_found_error',
      message: 'No agent "nobody"',
      details: { error_code: 'ANTHROPIC_ERR_UNKNOWN_AGENT' }
    }
  })
  t.equal(response.headers.get('request-id'), body.request_id)
})

t.test('the revision of the API', async (t) => {
  const { client, origin } = await sessionsApp(t, { runnables })
  const refused = async (beta?: string) => {
    const headers = new Headers(beta === undefined ? {} : { 'anthropic-beta': beta })
    const response = await fetch(`${origin}/managed/v1/agents`, { headers })
    const { error } = (await response.json()) as { error: { details: { error_code: string } } }
    return `${response.status} ${error.details.error_code}`
  }
  t.equal(await refused(), '400 ANTHROPIC_ERR_BETA_REQUIRED')
  t.equal(await refused('managed-agents-2025-01-01'), '400 ANTHROPIC_ERR_UNKNOWN_BETA')
  t.equal(await refused('managed-agents-2026-04-01,skills-2025-10-02'), '400 ANTHROPIC_ERR_UNKNOWN_BETA')
  t.equal(
    await refusalOf(client.beta.agents.list({ betas: ['dreaming-2026-04-21'] })),
    '400 ANTHROPIC_ERR_UNKNOWN_BETA'
  )
  t.equal(
    await refusalOf(client.beta.agents.list({ workspace_id: 'wrkspc_1' })),
    '400 ANTHROPIC_ERR_UNSUPPORTED'
  )
})

t.test('a token, as a bearer token or as an API key', async (t) => {
  const authenticate = ({ token }: { token?: string }) =>
    token === 'ada' ? { sub: 'ada', scopes: ['*'] } : null
  const { connect, origin } = await sessionsApp(t, { runnables, engine: { authenticate } })
  t.equal((await connect({ apiKey: 'ada' }).beta.agents.list()).data.length, 3)
  t.equal((await connect({ apiKey: null, authToken: 'ada' }).beta.agents.list()).data.length, 3)
  t.equal(await refusalOf(connect({ apiKey: 'eva' }).beta.agents.list()), '401 ANTHROPIC_ERR_NO_TOKEN')
  const ask = async (headers: Record<string, string>) => {
    const beta = { 'anthropic-beta': 'managed-agents-2026-04-01' }
    return (await fetch(`${origin}/managed/v1/agents`, { headers: { ...beta, ...headers } })).status
  }
  t.equal(await ask({ 'x-api-key': 'ada' }), 200)
  t.equal(await ask({ 'x-api-key': 'eva' }), 401)
  t.equal(await ask({ 'x-api-key': 'ada', authorization: 'Bearer eva' }), 401, 'the bearer token counts')
})
