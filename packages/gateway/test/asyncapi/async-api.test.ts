import { Type } from '@sinclair/typebox'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createJwtAuthenticate } from '@svc/http'
import {
  ACKNOWLEDGEMENTS,
  CLIENT_EVENTS,
  generateAsyncApi,
  VOICE_EVENTS,
  type AsyncApiDocument,
  type GatewayOptions
} from '@svc/gateway'
import { scriptedRunnable } from '@svc/testing'
import { Ajv, type ValidateFunction } from 'ajv'
import formats from 'ajv-formats'
import t from 'tap'
import { buildGateway, echo, Inbox } from '../helpers/build-gateway.ts'

const require = createRequire(import.meta.url)
const schema = JSON.parse(
  readFileSync(require.resolve('@asyncapi/specs/schemas/3.0.0-without-$id.json'), 'utf8')
) as object
const ajv = new Ajv({ strict: false, allErrors: true })
formats.default(ajv)
const isAsyncApi = ajv.compile(schema)

/** What checks the payload of a message of the document. */
function checkerOf(document: AsyncApiDocument): (message: string) => ValidateFunction {
  const own = new Ajv({ strict: false })
  formats.default(own)
  own.addSchema({ $id: 'doc', ...document })
  return (message) => own.compile({ $ref: `doc#/components/messages/${message}/payload` })
}

t.test('the document is valid AsyncAPI 3.0, with every event in its direction', async (t) => {
  const authenticate = await createJwtAuthenticate({ secret: 'a secret that is long enough to be one' })
  const cookies = await createJwtAuthenticate({
    secret: 'a secret that is long enough',
    extractFrom: 'cookie'
  })
  for (const options of [
    {},
    { namespace: '/x', authenticate },
    { authenticate: cookies }
  ] as GatewayOptions[]) {
    const document = generateAsyncApi(options, { title: 'Mine', version: '2.0.0', description: 'Events' })
    t.ok(isAsyncApi(document), JSON.stringify(isAsyncApi.errors?.slice(0, 3)))
    t.match(document.info, { title: 'Mine', version: '2.0.0', description: 'Events' })
    t.equal(document.channels['gateway']?.address, options.namespace ?? '/')
  }
  const { operations, channels } = generateAsyncApi({ limits: { payload: 2_500_000 } })
  t.match(channels['gateway']!.description, /more than 2,500,000 bytes, and more than 50 packets a second/)
  const received = Object.entries(operations).filter(([, each]) => 'reply' in each)
  t.strictSame(
    received.map(([name]) => name),
    Object.keys(CLIENT_EVENTS)
  )
  t.strictSame(Object.keys(ACKNOWLEDGEMENTS), Object.keys(CLIENT_EVENTS))
  const sent = 3 * 10 + (Object.keys(VOICE_EVENTS).length + 2) + 3
  t.equal(Object.keys(operations).length, 24 + sent)
  t.equal(Object.keys(channels['gateway']!.messages).length, 24 * 2 + sent)
})

t.test('every reference resolves', async (t) => {
  const document = generateAsyncApi()
  const refs = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path = '']) => path)
  t.ok(refs.length > 50)
  for (const path of refs) {
    const found = path
      .split('/')
      .reduce<unknown>((at, key) => (at as Record<string, unknown>)?.[key], document)
    if (found === undefined) t.fail(path)
  }
})

t.test('emitted events match the document', async (t) => {
  const call = { toolCallId: 'c1', toolName: 'pay' }
  const worker = scriptedRunnable(
    [
      { type: 'step.start', index: 0, attempt: 2 },
      { type: 'text', text: 'a', source: ['member'] },
      { type: 'tool.call', ...call, args: {} },
      async ({ approvals }) => void (await approvals.request({ ...call, args: {} })),
      async (context) => void (await context.ask({ message: 'Sure?', schema: Type.Boolean() })),
      { type: 'tool.result', ...call, result: 1, durationMs: 1 }
    ],
    { kind: 'workflow', name: 'worker' }
  )
  const { connect } = await buildGateway(t, { runnables: [worker, echo] })
  const client = await connect()
  const inbox = new Inbox(client)
  const check = checkerOf(generateAsyncApi())
  const send = async (event: 'workflow.run', payload: object) => {
    const ack = await client.emitWithAck(event, payload as never)
    const isAck = check(`${event}.ack`)
    t.ok(isAck(ack), `${event}.ack`)
    return ack as { runId: string }
  }
  const { runId } = await send('workflow.run', { name: 'worker', input: 'Go', parts: true })
  const { approvalId } = await inbox.first('workflow.approval')
  await send('run.watch' as never, { runId, after: 1, parts: true })
  await send('approval.answer' as never, { approvalId, approved: true })
  const { inputId } = await inbox.first('workflow.input')
  await send('input.answer' as never, { inputId, action: 'accept', content: true })
  await inbox.untilEnd(runId)
  await send('run.cancel' as never, { runId })
  await send('workflow.run', { name: 'none', input: 'Go' })
  client.emit('run.cancel', { runId: 'none' })
  await inbox.first('gateway.error')
  t.ok(new Set(inbox.all.map(({ event }) => event)).size >= 9)
  for (const { event, ...payload } of inbox.all)
    t.ok(check(event)(payload), `${event} ${JSON.stringify(payload)}`)
})

t.test('it is served at the configured path', async (t) => {
  for (const [asyncApi, path] of [
    [true, '/docs/asyncapi.json'],
    [{ path: '/api/docs/asyncapi.json', title: 'Mine' }, '/api/docs/asyncapi.json']
  ] as const) {
    const { app } = await buildGateway(t, { options: { asyncApi }, http: { swagger: true } })
    const response = await app.inject(path)
    t.equal(response.statusCode, 200)
    t.ok(isAsyncApi(response.json()))
    const openApi = (await app.inject('/api/docs/spec.json')).json<{ paths: object }>()
    t.notMatch(Object.keys(openApi.paths).join(), /asyncapi|socket\.io/, 'OpenAPI does not tell of it')
  }
  const { app } = await buildGateway(t)
  t.equal((await app.inject('/docs/asyncapi.json')).statusCode, 404)
})
