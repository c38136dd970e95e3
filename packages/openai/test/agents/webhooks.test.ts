import { join } from 'node:path'
import OpenAI from 'openai'
import { receiveWebhooks } from '@tools/wires/receive-webhooks'
import { findTypeFaults } from '@tools/wires/sdk-types'
import t from 'tap'
import { supportAgent } from '../helpers/agents.ts'
import { agentsApp, collect, until } from './helpers/agents-app.ts'

const environment = { type: 'none' } as const
const TYPES = [
  'AgentSessionActionRequiredWebhookEvent',
  'AgentSessionFailedWebhookEvent',
  'AgentSessionIdleWebhookEvent'
]

t.test('webhooks of sessions are verified and parsed by the SDK', async (t) => {
  const { add } = supportAgent([{ toolCalls: [{ toolName: 'send', args: { to: 'ada' } }] }, 'Sent.'])
  const { client, runs } = await agentsApp(t, {
    add,
    engine: { webhooks: { allowPrivate: true, backoff: 1 } }
  })
  const receiver = await receiveWebhooks(t)
  const events = ['agent.session.idle', 'agent.session.failed', 'agent.session.action_required'] as const
  const webhook = await runs.webhooks.create({ url: receiver.url, events: [...events] })
  t.same(webhook.events, events)
  const { sessions } = client().beta.agents
  const { id } = await sessions.create({ agent_id: 'support', environment, input: 'Send it' })
  const asking = await until(
    () => sessions.retrieve(id),
    ({ status }) => status === 'requires_action'
  )
  const [action] = asking.required_actions
  if (action?.type !== 'mcp_approval_request') throw new Error('no approval is asked for')
  const response = { type: 'mcp_tool_call' as const, decision: 'approve' as const }
  const answer = {
    type: 'agent.session.input.mcp_approval_request_result' as const,
    request_id: action.request_id,
    response
  }
  await sessions.events.create(id, { events: [answer as never] })
  await receiver.until(4)
  await sessions.events.create(id, {
    events: [
      {
        type: 'agent.session.input.message',
        input: [{ role: 'user', content: [{ type: 'input_text', text: 'Again' }] }]
      }
    ]
  })
  const raw = await receiver.until(6)

  const verifier = new OpenAI({ apiKey: 'none', webhookSecret: webhook.secrets[0]! })
  const unwrapped = await Promise.all(raw.map(({ body, headers }) => verifier.webhooks.unwrap(body, headers)))
  t.match(
    unwrapped.map(({ type, data }) => [type, (data as { id: string }).id]),
    [
      ['agent.session.action_required', id],
      ['agent.session.action_required', id],
      ['agent.session.idle', id],
      ['agent.session.idle', id],
      ['agent.session.failed', id],
      ['agent.session.failed', id]
    ]
  )
  t.match(unwrapped[0]!.data, { required_action: { type: 'mcp_approval_request' } })
  for (const at of [0, 2, 4])
    t.equal(unwrapped[at]!.id, unwrapped[at + 1]!.id, 'a repeated message has the id')
  t.equal(new Set(unwrapped.map((event) => event.id)).size, 3)
  await t.rejects(verifier.webhooks.unwrap(`${raw[0]!.body} `, raw[0]!.headers), 'a changed body is refused')
  t.equal((await collect(sessions.turns.list(id))).length, 2)
  const faults = await findTypeFaults(
    { Sent: unwrapped },
    [
      `import type { ${TYPES.join(', ')} } from 'openai/resources/webhooks/webhooks'`,
      `type Sent = ${TYPES.join(' | ')}`
    ],
    join(t.testdir(), 'webhooks.ts')
  )
  t.equal(faults, '')
})

t.test('a webhook that asks for idle only gets it of failed turns too', async (t) => {
  const { add } = supportAgent([])
  const { client, runs } = await agentsApp(t, {
    add,
    engine: { webhooks: { allowPrivate: true, backoff: 1 } }
  })
  const receiver = await receiveWebhooks(t)
  await runs.webhooks.create({ url: receiver.url, events: ['agent.session.idle'] })
  await client().beta.agents.sessions.create({ agent_id: 'support', environment, input: 'Hi' })
  const [message] = await receiver.until(1)
  t.match(JSON.parse(message!.body), { type: 'agent.session.idle', data: { environment_type: 'none' } })
})
