import { randomBytes, randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createJwtAuthenticate } from '@svc/http'
import type { VoiceInput } from '@svc/registry'
import { scriptedVoice } from '@svc/testing'
import { Server } from 'socket.io'
import t from 'tap'
import { buildGateway, type Client, type GatewayRequest } from '../helpers/build-gateway.ts'
import { CallLog, sendAudio, startCall } from '../helpers/call-log.ts'
import { SECRET, signToken } from '../helpers/sign-token.ts'

const parrot = { runnables: [scriptedVoice()] }
const withTokens = async (more: GatewayRequest['options'] = {}): Promise<GatewayRequest> => ({
  ...parrot,
  options: { authenticate: await createJwtAuthenticate({ secret: SECRET }), ...more }
})
const as = (token: string) => ({ auth: { token } })

/** Closes the connection under a socket. */
function cut(client: Client): void {
  client.io.engine.close()
}

t.test('a connection that is cut at any moment resumes without a gap: the audio is the same', async (t) => {
  const { connect } = await buildGateway(t, parrot)
  for (let round = 0; round < 10; round++) {
    const client = await connect()
    const log = new CallLog(client)
    const { runId } = await startCall(client)
    const audio = randomBytes(480_000)
    sendAudio(client, audio, 48_000)
    client.emit('voice.commit', {})
    const cutAfter = randomInt(3, 90)
    await log.untilTrue(() => log.positions.length >= cutAfter)
    cut(client)
    const again = await connect()
    log.listen(again)
    const after = log.positions.at(-1)!
    t.match(await again.emitWithAck('voice.resume', { runId, after }), { runId })
    await log.until('voice.response.end')
    t.same(
      log.positions,
      [...log.positions.keys()].map((index) => index + 1)
    )
    t.ok(log.audio.equals(audio), `cut after ${after}`)
    again.emit('voice.stop', {})
    t.match(await log.until('voice.done'), { status: 'completed' })
    again.disconnect()
  }
})

t.test('what is sent while no socket is there comes after its return, at once', async (t) => {
  const inputs: string[] = []
  const away = Promise.withResolvers<void>()
  const voice = scriptedVoice(async function* (link) {
    for await (const { type } of link.input) {
      inputs.push(type)
      if (type !== 'away') continue
      void link.send({ type: 'state', state: 'thinking' })
      away.resolve()
    }
    yield { type: 'text', text: 'Bye' }
  })
  const { connect } = await buildGateway(t, { runnables: [voice] })
  const client = await connect()
  const { runId } = await startCall(client)
  cut(client)
  await away.promise
  const again = await connect()
  const log = new CallLog(again)
  await again.emitWithAck('voice.resume', { runId, after: 0 })
  t.match(await log.until('voice.state'), { state: 'thinking', position: 1 })
  await again.emitWithAck('voice.stop', {})
  await log.until('voice.done')
  t.same(inputs, ['away', 'back', 'end'])
})

t.test('a socket that does not come back within the grace period hangs up', async (t) => {
  const ends: VoiceInput[] = []
  const voice = scriptedVoice(async function* ({ input }) {
    for await (const each of input) ends.push(each)
    yield { type: 'text', text: 'Bye' }
  })
  for (const reconnectGrace of [0, 20]) {
    const { connect, runs } = await buildGateway(t, { runnables: [voice], options: { reconnectGrace } })
    const client = await connect()
    const { runId } = await startCall(client)
    cut(client)
    for await (const part of runs.parts(runId)) t.comment(part.type)
    t.match(ends.splice(0).at(-1), { type: 'end', reason: 'gone' })
    const again = await connect()
    t.match(await again.emitWithAck('voice.resume', { runId }), { code: 'VOICE_ERR_CALL_ENDED' })
  }
})

t.test('a socket that leaves while its call starts leaves no call', async (t) => {
  const asked = Promise.withResolvers<void>()
  const allowed = Promise.withResolvers<{ allowed: true }>()
  const authorize = () => {
    asked.resolve()
    return allowed.promise
  }
  const ended = Promise.withResolvers<void>()
  const options = { authorize, reconnectGrace: 0 }
  const { connect, runs, app } = await buildGateway(t, { ...parrot, options })
  runs.events.on('run.complete', () => ended.resolve())
  const client = await connect()
  client.emit('voice.start', { name: 'voice' })
  await asked.promise
  const [served] = app.io.sockets.sockets.values()
  const left = once(served!, 'disconnect')
  cut(client)
  await left
  allowed.resolve({ allowed: true })
  await ended.promise
  t.equal(runs.active, 0)
})

t.test('a second connection takes the call; the first one is free for another', async (t) => {
  const { connect } = await buildGateway(t, parrot)
  const [first, second] = [await connect(), await connect()]
  const [log, newLog] = [new CallLog(first), new CallLog(second)]
  const { runId } = await startCall(first)
  await log.until('voice.state')
  await second.emitWithAck('voice.resume', { runId })
  t.match(await log.until('voice.done'), { runId, status: 'replaced' })
  t.match(await first.emitWithAck('voice.commit', {}), { code: 'GTW_ERR_NO_CALL' })
  await second.emitWithAck('voice.text', { text: 'mine', respond: true })
  await newLog.until('voice.response.end')
  t.same(newLog.of('voice.state'), [], 'outputs before the return are not repeated')
  await startCall(first)
  first.disconnect()
  t.same(await second.emitWithAck('voice.commit', {}), { ok: true }, 'the call stays with the second')
})

t.test('only the owner resumes a call, and only from a position that exists', async (t) => {
  const { connect, runs } = await buildGateway(t, await withTokens())
  const client = await connect(as(signToken()))
  const log = new CallLog(client)
  const { runId } = await startCall(client)
  await log.until('voice.state')
  const resume = async (claims: object, payload: object) => {
    const other = await connect(as(signToken(claims)))
    return other.emitWithAck('voice.resume', { runId, ...payload })
  }
  t.match(await resume({ sub: 'eve' }, {}), { code: 'RUN_ERR_NOT_FOUND' })
  t.match(await resume({ sub: 'root', scopes: ['admin:*'] }, {}), { code: 'RUN_ERR_NOT_FOUND' })
  t.match(await resume({}, { runId: 'nothing' }), { code: 'RUN_ERR_NOT_FOUND' })
  t.match(await resume({}, { after: 2 }), { code: 'VOICE_ERR_BAD_AFTER' })
  t.match(await client.emitWithAck('voice.resume', { runId }), { code: 'GTW_ERR_CALL_IN_PROGRESS' })
  t.same(log.of('voice.done'), [], 'none of them has the call')
  t.match(await resume({}, { after: 1 }), { runId })
  await runs.cancel(runId)
  t.match(await resume({}, { after: 1 }), { code: 'VOICE_ERR_CALL_ENDED' })
})

t.test('a token that expires in the middle of a call ends the connection; another resumes', async (t) => {
  const { connect } = await buildGateway(t, await withTokens())
  const client = await connect(as(signToken({}, 1)))
  const log = new CallLog(client)
  const { runId } = await startCall(client)
  const frames = setInterval(() => client.emit('voice.audio', Buffer.alloc(960)), 20)
  t.teardown(() => clearInterval(frames))
  t.match(await log.until('gateway.error'), { code: 'GTW_ERR_TOKEN_EXPIRED' })
  const again = await connect(as(signToken()))
  t.match(await again.emitWithAck('voice.resume', { runId }), { runId })
  t.same(await again.emitWithAck('voice.commit', {}), { ok: true })
})

t.test('a call without a token is refused with its socket', async (t) => {
  const { open } = await buildGateway(t, await withTokens())
  const client = open()
  const [err] = await new Promise<[Error & { data?: object }]>((resolve) =>
    client.once('connect_error', (...values) => resolve(values))
  )
  t.match(err.data, { code: 'GTW_ERR_NO_TOKEN' })
})

t.test('what a client has received, by its answers to pings, is not kept', async (t) => {
  const { connect } = await buildGateway(t, {
    ...parrot,
    before: (app) => app.decorate('io', new Server(app.server, { pingInterval: 100 }))
  })
  const client = await connect()
  const log = new CallLog(client)
  const { runId } = await startCall(client)
  const audio = randomBytes(9_600)
  sendAudio(client, audio)
  client.emit('voice.commit', {})
  await log.until('voice.response.end')
  t.same(log.audio, audio, 'the parser of the app takes audio, too')
  // The second one answers a ping after the last output.
  for (let pings = 0; pings < 2; pings++) await once(client.io as never, 'ping')
  await client.emitWithAck('voice.commit', {})
  const again = await connect()
  const gone = await again.emitWithAck('voice.resume', { runId, after: 1 })
  t.match(gone, { code: 'VOICE_ERR_OUTPUT_GONE' })
  // The answer to the second commit may have come by now, and a ping after it.
  const after = log.positions.at(-1)!
  t.match(await again.emitWithAck('voice.resume', { runId, after }), { runId })
})
