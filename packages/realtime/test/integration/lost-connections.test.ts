import { once } from 'node:events'
import t from 'tap'
import { buildRealtime, openDesk } from '../helpers/build-realtime.ts'
import { createDesk } from '../helpers/desk-voice.ts'

const text = (words: string) => ({
  type: 'conversation.item.create' as const,
  item: {
    type: 'message' as const,
    role: 'user' as const,
    content: [{ type: 'input_text' as const, text: words }]
  }
})

t.test('a client that closes its WebSocket hangs up', async (t) => {
  const desk = createDesk()
  const { open, call, runs } = await buildRealtime(t, { runnables: [desk.voice] })
  for (const code of [1000, undefined]) {
    const client = call('?model=desk')
    const { conversation } = await client.next('conversation.created')
    client.ws.close(code)
    await client.closed
    for await (const part of runs.parts(conversation.id)) void part
    t.match(await runs.get(conversation.id), { status: 'completed' })
    t.match(desk.inputs.at(-1), { type: 'end', reason: 'hangup' })
    const again = open(`?call=${conversation.id}`)
    t.match(await again.next('error'), { error: { code: 'VOICE_ERR_CALL_ENDED' } })
  }
})

t.test('a lost connection comes back: what was not sent follows, with the same items', async (t) => {
  const { desk, client, open } = await openDesk(t)
  client.send({ type: 'session.update', session: { instructions: 'Brief' } })
  client.send(text('long'))
  client.send({ type: 'response.create' })
  const { conversation } = await client.next('conversation.created')
  const { item } = await client.next('response.output_item.added')
  for (let count = 0; count < 5; count++) await client.next('response.output_audio.delta')
  client.ws.terminate()
  while (desk.inputs.at(-1)?.type !== 'away') await new Promise(setImmediate)
  const interrupting = desk.interrupt(300, 'lo')

  const again = open(`?call=${conversation.id}`)
  t.match(await again.next('session.created'), { session: { model: 'desk', instructions: 'Brief' } })
  t.match(await again.next('conversation.created'), { conversation })
  t.match(await again.next('response.done'), {
    response: { status: 'cancelled', output: [{ id: item.id, content: [{ transcript: 'lo' }] }] }
  })
  await interrupting
  t.match(desk.inputs.at(-1), { type: 'back' })
  again.send(text('Hi again'))
  again.send({ type: 'response.create' })
  t.match(await again.next('response.done'), {
    response: { conversation_id: conversation.id, status: 'completed' }
  })
  t.equal(desk.links.length, 1)
})

t.test('another connection replaces the first one', async (t) => {
  const { open, call } = await buildRealtime(t, { runnables: [createDesk().voice] })
  const first = call('?model=desk')
  const { conversation } = await first.next('conversation.created')
  const second = open(`?call=${conversation.id}&model=desk`)
  await second.next('conversation.created')
  t.match(await first.next('error'), { error: { code: 'RT_ERR_REPLACED' } })
  t.match(await first.closed, { code: 4001 })
  second.send(text('Hi'))
  second.send({ type: 'response.create' })
  t.match(await second.next('response.done'), { response: { status: 'completed' } })
})

t.test('a connection that does not come back in time ends the call', async (t) => {
  const desk = createDesk()
  const { call, runs } = await buildRealtime(t, {
    runnables: [desk.voice],
    options: { reconnectGrace: 20 }
  })
  const client = call('?model=desk')
  const { conversation } = await client.next('conversation.created')
  client.ws.terminate()
  for await (const part of runs.parts(conversation.id)) void part
  t.match(desk.inputs.at(-1), { type: 'end', reason: 'gone' })
})

t.test('a client that answers no ping is disconnected', async (t) => {
  const desk = createDesk()
  const { open, call } = await buildRealtime(t, { runnables: [desk.voice], options: { heartbeat: 30 } })
  const alive = call('?model=desk')
  const dead = open('?model=desk', { autoPong: false })
  await alive.next('conversation.created')
  t.match(await dead.closed, { code: 1006 })
  t.equal(alive.ws.readyState, alive.ws.OPEN)
})

t.test('a client that left before its call began leaves none behind', async (t) => {
  const { client, open, runs } = await openDesk(t)
  await client.next('session.created')
  client.send({ type: 'session.update', session: { instructions: 'Brief' } })
  client.ws.close()
  await client.closed
  while (runs.active > 0) await new Promise(setImmediate)
  const idle = open('?model=desk')
  await idle.next('session.created')
  idle.ws.close()
  await idle.closed
  t.equal(runs.active, 0)
})

t.test('the service shuts down: calls end with an error and a close code', async (t) => {
  const { open, call, app } = await buildRealtime(t, { runnables: [createDesk().voice] })
  const client = call('?model=desk')
  await client.next('conversation.created')
  const waiting = open('?model=desk')
  await waiting.next('session.created')
  const closing = app.close()
  t.match(await client.next('error'), { error: { code: 'RUN_ERR_DRAINING', type: 'server_error' } })
  t.match(await client.closed, { code: 1012 })
  t.match(await waiting.closed, { code: 1012 })
  await closing
})

t.test('a call that fails, and one that is canceled over another surface', async (t) => {
  const desk = createDesk()
  Object.assign(desk.voice, {
    async *converse() {
      yield { type: 'text', text: 'Hi' }
      throw new Error('secret detail')
    }
  })
  const { call, runs } = await buildRealtime(t, { runnables: [desk.voice, createDesk('other').voice] })
  const failing = call('?model=desk')
  t.match(await failing.next('error'), { error: { type: 'server_error', code: 'RUN_ERR_FAILED' } })
  t.match(await failing.closed, { code: 1011, reason: 'RUN_ERR_FAILED' })
  t.notMatch(JSON.stringify(failing.events), /secret detail/)

  const canceled = call('?model=other')
  const { conversation } = await canceled.next('conversation.created')
  await runs.cancel(conversation.id)
  t.match(await canceled.closed, { code: 1000, reason: 'canceled' })
})

t.test('a client that does not read makes its call wait, and loses nothing', async (t) => {
  const desk = createDesk()
  let sent = 0
  const [count, bytes] = [400, 24_000]
  Object.assign(desk.voice, {
    async *converse(link: (typeof desk.links)[number]) {
      await link.send({ type: 'response.start', responseId: 'r' })
      await link.send({
        type: 'answer.start',
        responseId: 'r',
        itemId: 'a',
        previousItemId: undefined,
        modality: 'audio'
      })
      for (let index = 0; index < count; index++) {
        const audio = new Uint8Array(bytes).fill(index % 256)
        await link.send({ type: 'audio', responseId: 'r', itemId: 'a', audio, startMs: index * 500 })
        sent++
      }
      yield { type: 'text', text: 'sent' }
    }
  })
  const { client } = await openDesk(t, { desk })
  await once(client.ws, 'open')
  client.send({ type: 'session.update', session: { instructions: 'Brief' } })
  await client.next('response.created')
  client.ws.pause()
  // Until the call waits.
  for (let before = -1; before !== sent; await new Promise((resolve) => setTimeout(resolve, 50)))
    before = sent
  t.ok(sent < count, `${sent} of ${count} frames`)
  client.ws.resume()
  t.match(await client.closed, { code: 1000 })
  const audio = client.events.flatMap((event) =>
    event.type === 'response.output_audio.delta' ? [event.delta] : []
  )
  t.equal(audio.length, count)
  t.ok(audio.every((delta, index) => Buffer.from(delta, 'base64').every((byte) => byte === index % 256)))
})
