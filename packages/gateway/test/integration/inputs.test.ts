import { Type } from '@sinclair/typebox'
import { defineRunnable, RUNNABLE_KINDS, type RunContext, type RunnableKind } from '@svc/registry'
import t from 'tap'
import { buildGateway, Inbox, textOf, type Client } from '../helpers/build-gateway.ts'

const schema = Type.Object({ size: Type.Integer({ minimum: 1 }) })
const waiting = (
  wait: (context: RunContext) => Promise<unknown>,
  name: string,
  kind: RunnableKind = 'agent'
) => defineRunnable({ kind, name, run: async (_input, context) => JSON.stringify(await wait(context)) })
const question = (kind: RunnableKind) =>
  waiting((context) => context.child('m').ask({ message: 'Which size?', schema }), 'question', kind)
const tool = (args: unknown) =>
  waiting((context) => context.callClient({ toolCallId: 'c', toolName: 'locate', args }), 'tool')
const answer = { action: 'accept', content: { size: 3 } } as const

async function start(client: Client, kind: RunnableKind, name: string) {
  const inbox = new Inbox(client)
  const { runId } = (await client.emitWithAck(`${kind}.run`, { name, input: 'Go' })) as { runId: string }
  const asked = await inbox.first(`${kind}.input`)
  return { inbox, runId, asked, inputId: String(asked['inputId']) }
}

for (const kind of RUNNABLE_KINDS)
  t.test(`a question of a ${kind} is an event, and is answered from a socket`, async (t) => {
    const { connect } = await buildGateway(t, { runnables: [question(kind)] })
    const client = await connect()
    const { inbox, runId, asked, inputId } = await start(client, kind, 'question')
    t.strictSame(asked, {
      event: `${kind}.input`,
      inputId,
      kind: 'question',
      message: 'Which size?',
      schema: JSON.parse(JSON.stringify(schema)) as object,
      expiresAt: asked['expiresAt'],
      runId,
      seq: 2,
      source: ['m']
    })
    t.strictSame(await client.emitWithAck('input.answer', { inputId, ...answer }), { ok: true })
    t.match(await client.emitWithAck('input.answer', { inputId, ...answer }), {
      code: 'RUN_ERR_INPUT_ANSWERED'
    })
    t.equal(textOf(await inbox.untilEnd(runId)), JSON.stringify(answer))
  })

t.test('what is asked on a socket is answered over HTTP, and the reverse', async (t) => {
  const { connect, origin, runs } = await buildGateway(t, { runnables: [question('agent')], http: {} })
  const client = await connect()
  const post = (path: string, body: object) =>
    fetch(`${origin}/api/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', prefer: 'respond-async' },
      body: JSON.stringify(body)
    })
  const first = await start(client, 'agent', 'question')
  t.equal((await post(`inputs/${first.inputId}`, answer)).status, 200)
  t.equal(textOf(await first.inbox.untilEnd(first.runId)), JSON.stringify(answer))

  const started = await post('agents/question/run', { input: 'Go' })
  const { runId } = (await started.json()) as { runId: string }
  for await (const part of runs.parts(runId)) if (part.type === 'input.request') break
  t.strictSame(await client.emitWithAck('input.answer', { inputId: `${runId}.1`, action: 'cancel' }), {
    ok: true
  })
  t.match(await (await fetch(`${origin}/api/runs/${runId}`)).json(), { pendingInputs: [] })
})

t.test('the arguments of a client tool are sent, or previewed if they are very large', async (t) => {
  for (const [args, shown] of [
    [{ near: 'here' }, { args: { near: 'here' } }],
    ['x'.repeat(1_048_577), { args: null, argsPreview: /^"x+$/ }]
  ]) {
    const { connect } = await buildGateway(t, { runnables: [tool(args)] })
    const client = await connect()
    const { asked, inputId, inbox, runId } = await start(client, 'agent', 'tool')
    t.match(asked, { kind: 'tool', toolCallId: 'c', toolName: 'locate', ...(shown as object) })
    await client.emitWithAck('input.answer', { inputId, action: 'accept', content: 'found' })
    t.equal(textOf(await inbox.untilEnd(runId)), '{"action":"accept","content":"found"}')
  }
})

t.test('wrong answers and those of others are refused, and the run keeps waiting', async (t) => {
  const { connect, runs } = await buildGateway(t, {
    runnables: [question('agent')],
    options: { authenticate: ({ token = '' }) => ({ sub: token, scopes: ['agents:run'] }) }
  })
  const client = await connect({ auth: { token: 'ann' } })
  const { runId, inputId } = await start(client, 'agent', 'question')
  const emit = (from: Client, ...payloads: unknown[]) =>
    (from as never as { emitWithAck(...all: unknown[]): Promise<unknown> }).emitWithAck(
      'input.answer',
      ...payloads
    )
  const deep = JSON.parse(`${'['.repeat(1_000)}${']'.repeat(1_000)}`) as unknown
  const bad: [unknown, string?][] = [
    [undefined],
    ['accept'],
    [{ inputId }],
    [{ action: 'accept' }],
    [{ inputId, action: 'yes' }],
    [{ inputId: 5, ...answer }],
    [{ inputId, approved: true }],
    [{ inputId, ...answer, more: 1 }],
    [{ inputId, action: 'accept', content: deep }],
    [{ inputId, action: 'accept', content: JSON.parse('{"size":1,"__proto__":{}}') as unknown }],
    [{ inputId: 'x'.repeat(513), ...answer }],
    [{ inputId, action: 'accept' }, 'RUN_ERR_BAD_INPUT'],
    [{ inputId, action: 'accept', content: { size: 0 } }, 'RUN_ERR_BAD_INPUT'],
    [{ inputId, action: 'cancel', content: { size: 1 } }, 'RUN_ERR_BAD_INPUT'],
    [{ inputId: `${runId}.2`, ...answer }, 'RUN_ERR_INPUT_NOT_FOUND'],
    [{ inputId: '__proto__', ...answer }, 'RUN_ERR_INPUT_NOT_FOUND']
  ]
  for (const [payload, code = 'GTW_ERR_BAD_PAYLOAD'] of bad)
    t.match(await emit(client, payload), { code }, JSON.stringify(payload)?.slice(0, 60))
  const bob = await connect({ auth: { token: 'bob' } })
  t.match(await emit(bob, { inputId, ...answer }), { code: 'RUN_ERR_INPUT_NOT_FOUND' })
  t.match(await runs.find(runId), { status: 'input-required' })
  t.strictSame(await emit(client, { inputId, ...answer }), { ok: true })
})
