import { Type } from '@sinclair/typebox'
import type { RunContext } from '@svc/registry'
import t from 'tap'
import { connect, mcpApp, REVISIONS } from '../helpers/mcp-app.ts'
import { sendModern } from '../helpers/send-modern.ts'

const approving = {
  kind: 'agent' as const,
  name: 'mailer',
  run: async (_input: unknown, { approvals }: RunContext) => {
    const answers = await Promise.all(
      ['ann', 'bob'].map((to) =>
        approvals.request({ toolCallId: `call-${to}`, toolName: 'send', args: { to } })
      )
    )
    return answers.map(({ approved, reason }) => `${approved} ${reason ?? ''}`.trim()).join(', ')
  }
}
const asking = {
  kind: 'agent' as const,
  name: 'asker',
  run: async (_input: unknown, context: RunContext) => {
    const name = await context.ask({ message: 'Who are you?', schema: Type.Object({ name: Type.String() }) })
    const color = await context.ask({
      message: 'Which color?',
      schema: Type.Object({ list: Type.Array(Type.Number()) })
    })
    return JSON.stringify([name.action, name.content, color.action, color.content])
  }
}

for (const revision of REVISIONS) {
  void t.test(`${revision}: approvals are asked for as forms, all of them`, async (t) => {
    const { url } = await mcpApp(t, { runnables: [approving] })
    const messages: string[] = []
    const client = await connect(t, url, {
      revision,
      capabilities: { elicitation: { form: {} } },
      prepare: (client) =>
        client.setRequestHandler('elicitation/create', ({ params }) => {
          messages.push(params.message)
          return params.message.includes('ann')
            ? { action: 'accept', content: { approved: true } }
            : { action: 'accept', content: { approved: false, reason: 'not him' } }
        })
    })
    const result = await client.callTool({ name: 'mailer', arguments: { message: 'go' } })
    t.match(result.content, [{ type: 'text', text: 'true, false not him' }])
    t.equal(messages.length, 2)
  })

  void t.test(`${revision}: questions are asked one after another`, async (t) => {
    const { url } = await mcpApp(t, { runnables: [asking] })
    const schemas: unknown[] = []
    const client = await connect(t, url, {
      revision,
      capabilities: { elicitation: {} },
      prepare: (client) =>
        client.setRequestHandler('elicitation/create', ({ params }) => {
          schemas.push((params as { requestedSchema?: unknown }).requestedSchema)
          return params.message.startsWith('Who')
            ? { action: 'accept', content: { name: 'Ann' } }
            : { action: 'accept', content: { answer: '{"list":[1,2]}' } }
        })
    })
    const result = await client.callTool({ name: 'asker', arguments: { message: 'go' } })
    t.match(result.content, [{ text: '["accept",{"name":"Ann"},"accept",{"list":[1,2]}]' }])
    t.match(schemas, [
      { type: 'object', properties: { name: { type: 'string' } } },
      { type: 'object', properties: { answer: { type: 'string' } } }
    ])
  })

  void t.test(`${revision}: a client without forms learns what the run waits for`, async (t) => {
    const { url } = await mcpApp(t, { runnables: [asking] })
    const client = await connect(t, url, { revision })
    const call = client.callTool({ name: 'asker', arguments: { message: 'go' } })
    if (revision === '2026-07-28') {
      await t.rejects(call, { code: -32021 })
      return
    }
    t.match(await call, { isError: true, content: [{ text: /Who are you/ }] })
  })
}

void t.test('the state of a call is for its caller and its tool', async (t) => {
  const authenticate = ({ token }: { token?: string }) =>
    token === undefined ? null : { sub: token, scopes: [] }
  const { url } = await mcpApp(t, { runnables: [approving, asking], engine: { authenticate } })
  const capabilities = { elicitation: {} }
  const ann = { capabilities, token: 'ann' }
  const call = { name: 'mailer', arguments: { message: 'go' } }
  const { result } = await sendModern(url, 'tools/call', call, ann)
  t.match(result, { resultType: 'input_required', requestState: String })
  const requestState = String(result!['requestState'])
  const [first = ''] = Object.keys(result!['inputRequests'] as object)
  const inputResponses = { [first]: { action: 'accept', content: { approved: true } } }
  const refused = { error: { code: -32602, data: { code: 'MCP_ERR_BAD_STATE' } } }
  const again = { ...call, requestState, inputResponses }
  t.match(await sendModern(url, 'tools/call', again, { capabilities, token: 'bob' }), refused)
  t.match(await sendModern(url, 'tools/call', { ...again, name: 'asker' }, ann), refused)
  t.match(await sendModern(url, 'tools/call', { ...again, requestState: `${requestState}x` }, ann), refused)
  t.match(await sendModern(url, 'tools/call', { ...again, requestState: 'x' }, ann), refused)

  const { result: next } = await sendModern(url, 'tools/call', again, ann)
  t.equal(next!['resultType'], 'input_required', 'one of two approvals is left')
  t.notOk(first in (next!['inputRequests'] as object))
})

for (const revision of REVISIONS)
  void t.test(`${revision}: credentials are given on a page of the app, never to the client`, async (t) => {
    const secretive = {
      kind: 'agent' as const,
      name: 'secretive',
      run: async (_input: unknown, context: RunContext) => {
        const schema = Type.Object({ token: Type.String() })
        const { action, credentials } = await context.requestCredentials({
          message: 'A token, please',
          schema
        })
        return credentials === undefined ? action : `${credentials.reveal().token.length} characters`
      }
    }
    const { promise: opened, resolve: open } = Promise.withResolvers<URL>()
    const { url, runs } = await mcpApp(t, {
      runnables: [secretive],
      options: { credentialsUrl: ({ runId, inputId }) => `https://app.example.com/${runId}?input=${inputId}` }
    })
    let action: 'accept' | 'decline' = 'accept'
    const client = await connect(t, url, {
      revision,
      capabilities: { elicitation: { url: {} } },
      prepare: (client) =>
        client.setRequestHandler('elicitation/create', ({ params }) => {
          if (params.mode !== 'url') throw new Error('a form asks for a secret')
          open(new URL(params.url))
          return { action }
        })
    })
    const call = () => client.callTool({ name: 'secretive', arguments: { message: 'go' } })
    const accepted = call()
    const inputId = (await opened).searchParams.get('input')!
    await runs.answer(inputId, { action: 'accept', content: { token: 's3cret' } })
    t.match((await accepted).content, [{ text: '6 characters' }])
    action = 'decline'
    t.match((await call()).content, [{ text: 'decline' }])
  })
