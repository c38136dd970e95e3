import { setTimeout as wait } from 'node:timers/promises'
import { scriptedRunnable } from '@svc/testing'
import type { Socket } from 'socket.io'
import t from 'tap'
import { buildGateway, Inbox } from '../helpers/build-gateway.ts'
import { RawClient } from '../helpers/raw-client.ts'

const CHUNK = 'x'.repeat(10_000)
const CHUNKS = 1_000
const talkative = scriptedRunnable(
  Array.from({ length: CHUNKS }, () => ({ type: 'text', text: CHUNK }) as const),
  { name: 'talkative' }
)
const MEBIBYTE = 1_048_576

/** Bytes that the server holds for a socket: those that wait, and those that are given to its connection. */
function heldFor({ conn }: Socket): number {
  const { writeBuffer, transport } = conn as unknown as {
    writeBuffer: { data?: string; options: { wsPreEncodedFrame?: Buffer[] } }[]
    transport: { socket: { bufferedAmount: number } }
  }
  const waiting = writeBuffer.reduce(
    (sum, { data = '', options }) => sum + data.length + (options.wsPreEncodedFrame?.[0]?.length ?? 0),
    0
  )
  return waiting + transport.socket.bufferedAmount
}

t.test('a client that does not read costs little and delays neither the run nor others', async (t) => {
  const { origin, connect, app, runs } = await buildGateway(t, { runnables: [talkative] })
  const slow = await RawClient.connect(origin)
  const [socket] = await app.io.fetchSockets()
  slow.ws.pause()
  const names = Array.from({ length: 8 }, (_, id) => `42${id}["agent.run",{"name":"talkative","input":"Go"}]`)
  for (const frame of names) slow.send(frame)

  const client = await connect()
  const inbox = new Inbox(client)
  const { runId } = (await client.emitWithAck('agent.run', { name: 'talkative', input: 'Go' })) as {
    runId: string
  }
  const events = await inbox.untilEnd(runId)
  t.equal(events.length, CHUNKS + 1, 'others are served')
  const held = () => heldFor(app.io.sockets.sockets.get(socket!.id)!)
  let most = 0
  for (let look = 0; look < 50; look++) {
    most = Math.max(most, held())
    await wait(10)
  }
  t.ok(most > 0 && most < MEBIBYTE, `${most} bytes are held for 8 runs of 10 MB`)
  const { runs: all } = await runs.list({ limit: 20 })
  t.ok(
    all.every(({ status }) => status === 'completed'),
    'the runs have ended'
  )

  slow.ws.resume()
  for (let done = 0; done < 8; await wait(10))
    done = slow.received.filter((text) => text.startsWith('42["agent.done"')).length
  const seqs = new Map<string, number[]>()
  for (const text of slow.received) {
    if (!text.startsWith('42["agent.')) continue
    const [, { runId: id, seq }] = JSON.parse(text.slice(2)) as [string, { runId: string; seq: number }]
    seqs.set(id, [...(seqs.get(id) ?? []), seq])
  }
  t.equal(seqs.size, 8)
  for (const each of seqs.values())
    t.ok(each.length === CHUNKS + 1 && each.every((seq, index) => seq === index + 2), 'nothing is lost')
  slow.end()
})

t.test('a polling client gets its events in polls of bounded size', async (t) => {
  const { connect } = await buildGateway(t, { runnables: [talkative] })
  const client = await connect({ transports: ['polling'] })
  const inbox = new Inbox(client)
  const { runId } = (await client.emitWithAck('agent.run', { name: 'talkative', input: 'Go' })) as {
    runId: string
  }
  const events = await inbox.untilEnd(runId)
  t.equal(events.length, CHUNKS + 1)
})
