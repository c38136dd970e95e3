import { expose } from '@svc/registry'
import { scriptedVoice } from '@svc/testing'
import t from 'tap'
import { buildGateway } from '../helpers/build-gateway.ts'
import { CallLog, startCall } from '../helpers/call-log.ts'

t.test('a cancel, here or over HTTP, ends the call', async (t) => {
  const { connect, origin } = await buildGateway(t, { runnables: [scriptedVoice()], http: {} })
  const client = await connect()
  const log = new CallLog(client)
  const here = await startCall(client)
  t.same(await client.emitWithAck('run.cancel', { runId: here.runId }), { ok: true })
  t.match(await log.until('voice.done'), { status: 'canceled', runId: here.runId })
  const there = await startCall(client)
  await fetch(`${origin}/api/runs/${there.runId}/cancel`, { method: 'POST' })
  t.match(await log.until('voice.done', 2), { status: 'canceled', runId: there.runId })
})

t.test('a call that fails ends with the code', async (t) => {
  const voice = scriptedVoice(async function* (link) {
    await link.send({ type: 'error', code: 'VOICE_ERR_X', message: 'Something failed' })
    yield { type: 'text', text: '' }
    throw expose({ code: 'LINE_DEAD', message: 'The line is dead' })
  })
  const { connect } = await buildGateway(t, { runnables: [voice] })
  const client = await connect()
  const log = new CallLog(client)
  await startCall(client)
  t.match(await log.until('voice.error'), { code: 'VOICE_ERR_X', error: 'Something failed', position: 1 })
  t.match(await log.until('voice.done'), { status: 'failed', code: 'LINE_DEAD', error: 'The line is dead' })
  t.match(await log.until('agent.error'), { code: 'LINE_DEAD' })
})

t.test('a service that shuts down says so, and ends the call', async (t) => {
  const { connect, app, runs } = await buildGateway(t, { runnables: [scriptedVoice()] })
  const client = await connect()
  const log = new CallLog(client)
  const { runId } = await startCall(client)
  await app.close()
  t.match(log.of('voice.error'), [{ code: 'RUN_ERR_DRAINING' }])
  t.match(log.of('voice.done'), [{ status: 'completed' }])
  t.match(await runs.find(runId), { status: 'completed' })
})

t.test('a client tool of a call is answered by `input.answer`', async (t) => {
  const voice = scriptedVoice(async function* (_link, context) {
    const { content } = await context.callClient({ toolCallId: 'call', toolName: 'look', args: {} })
    yield { type: 'text', text: String(content) }
  })
  const { connect } = await buildGateway(t, { runnables: [voice], options: { clientTools: true } })
  const client = await connect()
  const log = new CallLog(client)
  const tools = [{ name: 'look', description: 'Looks', input: { type: 'object' as const } }]
  await startCall(client, { settings: { tools } })
  const { inputId } = await log.until('agent.input')
  const answer = { inputId: String(inputId), action: 'accept' as const, content: 'blue' }
  t.same(await client.emitWithAck('input.answer', answer), { ok: true })
  t.match(await log.until('agent.chunk'), { chunk: 'blue' })
})
