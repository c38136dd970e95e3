import { join } from 'node:path'
import type { BetaWebhookEvent } from '@anthropic-ai/sdk/resources/beta/webhooks'
import { defineRunnable } from '@svc/registry'
import { receiveWebhooks } from '@tools/wires/receive-webhooks'
import { findTypeFaults } from '@tools/wires/sdk-types'
import { codeOf } from '@svc/testing'
import t from 'tap'
import { sessionsApp, untilIdle } from '../helpers/sessions-app.ts'

const engine = { webhooks: { allowPrivate: true, backoff: 1 } }
const asking = defineRunnable({
  kind: 'agent',
  name: 'asking',
  async run(_input, context) {
    await context.ask!({ message: 'Which?', schema: { type: 'string' } } as never)
    return 'Done'
  }
})
const session = (text: string) => ({
  agent: 'asking',
  environment_id: 'env_service',
  initial_events: [{ type: 'user.message' as const, content: [{ type: 'text' as const, text }] }]
})

t.test('webhooks of sessions are verified and parsed by the SDK', async (t) => {
  const { client, runs } = await sessionsApp(t, { runnables: [asking], engine })
  const receiver = await receiveWebhooks(t)
  const webhook = await runs.webhooks.create({
    url: receiver.url,
    events: ['session.requires_action', 'session.status_idled']
  })
  const { id } = await client.beta.sessions.create(session('Hi'))
  await receiver.until(2)
  const [run] = (await runs.list({ limit: 1 })).runs
  const [input] = (await runs.get(run!.runId))!.inputs
  await runs.answer(input!.inputId, { action: 'accept', content: 'This' })
  await untilIdle(client, id, 1, true)
  const raw = await receiver.until(4)

  const { webhooks } = client.beta
  const key = webhook.secrets[0]!
  const unwrapped: BetaWebhookEvent[] = raw.map(({ body, headers }) =>
    webhooks.unwrap(body, { headers, key })
  )
  t.match(
    unwrapped.map(({ data }) => data),
    [
      { type: 'session.requires_action', id },
      { type: 'session.requires_action', id },
      { type: 'session.status_idled', id },
      { type: 'session.status_idled', id }
    ]
  )
  for (const at of [0, 2]) t.equal(unwrapped[at]!.id, unwrapped[at + 1]!.id, 'a repeated message has the id')
  t.not(unwrapped[0]!.id, unwrapped[2]!.id)
  const [{ body, headers }] = raw as [(typeof raw)[0]]
  t.throws(() => webhooks.unwrap(`${body} `, { headers, key }), 'a changed body is refused')
  const faults = await findTypeFaults(
    { BetaWebhookEvent: unwrapped },
    ["import type { BetaWebhookEvent } from '@anthropic-ai/sdk/resources/beta/webhooks'"],
    join(t.testdir(), 'webhooks.ts')
  )
  t.equal(faults, '')
})

t.test('events that are not known, of two shapes, and foreign addresses are refused', async (t) => {
  const { runs } = await sessionsApp(t, { runnables: [asking] })
  const { webhooks } = runs
  const url = 'https://203.0.113.1/hook'
  const create = (events: string[], to = url) =>
    codeOf(() => webhooks.create({ url: to, events: events as never }))
  t.equal(await create(['session.status_terminated']), 'RUN_ERR_BAD_WEBHOOK')
  t.equal(await create(['agent.session.created']), 'RUN_ERR_BAD_WEBHOOK')
  t.equal(await create(['session.status_idled', 'agent.session.idle']), 'RUN_ERR_BAD_WEBHOOK')
  t.equal(await create(['session.status_idled', 'run.failed']), 'RUN_ERR_BAD_WEBHOOK')
  t.equal(await create(['session.status_idled'], 'http://127.0.0.1:9/hook'), 'RUN_ERR_WEBHOOK_URL')
})
