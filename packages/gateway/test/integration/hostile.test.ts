import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { buildGateway, echo, Inbox, untilDisconnected, type TestGateway } from '../helpers/build-gateway.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { random } from '../helpers/random.ts'

const SEED = Number(process.env['SEED'] ?? Date.now() % 1_000_000)
const FRAMES = Number(process.env['FRAMES'] ?? 10_000)

t.setTimeout(80_000)

/** Makes sure that others are served, well and soon. */
async function requireServed({ connect }: TestGateway): Promise<void> {
  const client = await connect()
  const inbox = new Inbox(client)
  const { runId } = (await client.timeout(3_000).emitWithAck('agent.run', { name: 'echo', input: 'Hi' })) as {
    runId: string
  }
  const events = await inbox.untilEnd(runId)
  if (events.at(-1)?.event !== 'agent.done') throw new Error('another socket is not served')
  client.disconnect()
}

const event = (name: string, ...values: unknown[]) => `420${JSON.stringify([name, ...values])}`
const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`

t.test('an invalid payload is refused, and the socket stays connected', async (t) => {
  const gateway = await buildGateway(t, {
    runnables: [echo],
    options: { limits: { eventsPerSecond: 1_000 } }
  })
  const client = await gateway.connect()
  const inbox = new Inbox(client)
  const run = { name: 'echo', input: 'Hi' }
  const bad: [name: string, payloads: unknown[], code?: string][] = [
    ['agent.run', []],
    ['agent.run', [null]],
    ['agent.run', ['echo']],
    ['agent.run', [run, run]],
    ['agent.run', [[run]]],
    ['agent.run', [{ input: 'Hi' }]],
    ['agent.run', [{ name: 'echo' }], 'RUN_ERR_BAD_INPUT'],
    ['agent.run', [{ ...run, name: 5 }]],
    ['agent.run', [{ ...run, name: '' }]],
    ['agent.run', [{ ...run, other: 1 }]],
    ['agent.run', [{ ...run, sessionId: 'a\u0000b' }]],
    ['agent.run', [{ ...run, sessionId: 's'.repeat(257) }]],
    ['agent.run', [{ ...run, apiKey: 5 }]],
    ['agent.run', [{ ...run, onDisconnect: 'stay' }]],
    ['agent.run', [{ ...run, input: Buffer.from('binary') }]],
    ['agent.run', [Buffer.from('binary')]],
    ['agent.run', [{ ...run, input: '\ud800' }]],
    ['agent.run', [JSON.parse('{"name":"echo","input":{"__proto__":1}}')]],
    ['agent.run', [JSON.parse(`{"name":"echo","input":${deep(64)}}`)]],
    ['agent.run', [{ ...run, input: '' }], 'RUN_ERR_BAD_INPUT'],
    ['agent.run', [{ ...run, input: { a: 1 } }], 'RUN_ERR_BAD_INPUT'],
    ['agent.run', [{ ...run, name: 'none' }], 'GTW_ERR_UNKNOWN_RUNNABLE'],
    ['agent.run', [{ ...run, name: 'constructor' }], 'GTW_ERR_UNKNOWN_RUNNABLE'],
    ['team.run', [run], 'GTW_ERR_UNKNOWN_RUNNABLE'],
    ['run.cancel', [{}]],
    ['run.cancel', [{ runId: '__proto__' }], 'RUN_ERR_NOT_FOUND'],
    ['run.watch', [{ runId: 'x', after: -1 }]],
    ['run.watch', [{ runId: 'x', after: 1.5 }]],
    ['run.watch', [{ runId: 'x', after: '1' }]],
    ['approval.answer', [{ approvalId: 'x' }]],
    ['approval.answer', [{ approvalId: 'x', approved: 'yes' }]],
    ['approval.answer', [{ approvalId: 'x', approved: true, args: null }]],
    ['approval.answer', [{ approvalId: 'x', approved: true, args: [] }]],
    ['approval.answer', [{ approvalId: 'x', approved: true }], 'RUN_ERR_INPUT_NOT_FOUND'],
    ['run.start', [run], 'GTW_ERR_UNKNOWN_EVENT'],
    ['__proto__', [run], 'GTW_ERR_UNKNOWN_EVENT'],
    ['toString', [run], 'GTW_ERR_UNKNOWN_EVENT'],
    ['message', [run], 'GTW_ERR_UNKNOWN_EVENT']
  ]
  for (const [name, payloads, code = 'GTW_ERR_BAD_PAYLOAD'] of bad) {
    const ack = (await (client as never as { emitWithAck(...all: unknown[]): Promise<unknown> }).emitWithAck(
      name,
      ...payloads
    )) as { code: string }
    t.match(ack, { error: /./, code }, `${name} ${JSON.stringify(payloads)?.slice(0, 60)}`)
  }
  await wait(20)
  t.equal(inbox.all.length, bad.filter(([name]) => /^(?:agent|team)\./.test(name)).length)
  t.ok(
    inbox.all.every(({ event: name, code }) => /^(?:agent|team)\.error$/.test(name) && code),
    'what starts a run is told by an event too'
  )
  ;(client as never as { emit(name: string): void }).emit('run.start')
  t.match(
    await inbox.first('gateway.error'),
    { code: 'GTW_ERR_UNKNOWN_EVENT', error: 'No such event: "run.start"' },
    'without acknowledgement'
  )
  const long = `%d\n\u202e${'x'.repeat(1_000)}`
  const answer = await (client as never as { emitWithAck(name: string): Promise<unknown> }).emitWithAck(long)
  t.match(answer, { error: `No such event: "%d??${'x'.repeat(60)}"` })
  t.ok(client.connected)
  t.match(await client.emitWithAck('agent.run', run), { runId: /./ })
})

t.test(
  'frames that are no packets, reserved names, and what is too deep or too large end one socket',
  async (t) => {
    const gateway = await buildGateway(t, { runnables: [echo] })
    const attachment = '451-0["agent.run",{"_placeholder":true,"num":0}]'
    const frames: Record<string, (string | Buffer)[]> = {
      'an unknown packet': ['49'],
      'no JSON': ['42{'],
      'no event': ['42[]'],
      'a reserved name': ['42["disconnect","x"]'],
      'another reserved name': ['42["connect_error"]'],
      'a second CONNECT': ['40'],
      'a binary frame without its event': [Buffer.from([1, 2, 3])],
      'text in the place of a binary frame': [attachment, '42["x"]'],
      'too many attachments': ['4511-0["x"]'],
      'a packet type without end': ['4'.repeat(1_000)],
      'Engine.IO nonsense': ['9', 'x', ''],
      'more than a megabyte': ['x'.repeat(1_000_001)],
      'a payload of a megabyte and a byte': [
        event('agent.run', { name: 'echo', input: 'x'.repeat(1_000_001) })
      ]
    }
    for (const [what, sent] of Object.entries(frames)) {
      const client = await RawClient.connect(gateway.origin)
      const closed = once(client.ws, 'close')
      for (const frame of sent) client.send(frame)
      await closed
      t.pass(`${what}: disconnected`)
      await requireServed(gateway)
    }
    const answered: Record<string, (string | Buffer)[]> = {
      'nested 100,000 levels deep': [`420["agent.run",${deep(100_000)}]`],
      'deep in an argument that is not looked at': [`420["agent.run",1,${deep(100_000)}]`],
      'deep beneath an unknown event': [`420["x",${deep(100_000)}]`],
      binary: [attachment, Buffer.from('x')],
      'an impossible attachment': ['451-0["agent.run",{"_placeholder":true,"num":5}]', Buffer.from('x')],
      'a number for a name': ['420[5,{}]'],
      'the name error': ['420["error",{}]']
    }
    for (const [what, sent] of Object.entries(answered)) {
      const client = await RawClient.connect(gateway.origin)
      for (const frame of sent) client.send(frame)
      t.match(await client.until((text) => text.startsWith('430')), /GTW_ERR_/, what)
      t.notOk(client.closed, 'the socket stays')
      client.end()
      await requireServed(gateway)
    }
  }
)

t.test('exactly a megabyte is accepted, also over polling; one byte more is not', async (t) => {
  const { connect } = await buildGateway(t, { runnables: [echo] })
  const overhead = event('agent.run', { name: 'echo', input: '' }).length
  const payload = (bytes: number) => ({ name: 'echo', input: 'x'.repeat(bytes - overhead) })
  for (const transport of ['websocket', 'polling']) {
    const client = await connect({ transports: [transport] })
    t.match(await client.emitWithAck('agent.run', payload(1_000_000)), { runId: /./ }, transport)
    const gone = untilDisconnected(client)
    // The second event's id has as many digits.
    t.match(await client.emitWithAck('agent.run', payload(1_000_001)), { code: 'GTW_ERR_PAYLOAD_TOO_LARGE' })
    t.equal(await gone, 'io server disconnect')
  }
})

t.test('100,000 events at once: an error, then a disconnect, and others are served meanwhile', async (t) => {
  const gateway = await buildGateway(t, { runnables: [echo] })
  const client = await RawClient.connect(gateway.origin)
  const closed = once(client.ws, 'close')
  const frame = event('run.cancel', { runId: 'none' })
  for (let sent = 0; sent < 100_000; sent++) client.send(frame)
  const serving = requireServed(gateway)
  await closed
  await serving
  const errors = client.received.filter((text) => text.includes('RUN_ERR_NOT_FOUND'))
  t.ok(errors.length <= 50, `${errors.length} were looked at`)
  t.ok(
    client.received.some((text) => text.startsWith('42["gateway.error"') && text.includes('TOO_MANY_EVENTS'))
  )
  await requireServed(gateway)
})

t.test('reentering the namespace does not reset the event limit', async (t) => {
  const gateway = await buildGateway(t, { runnables: [echo], options: { limits: { eventsPerSecond: 20 } } })
  const client = await RawClient.connect(gateway.origin)
  const isRefusal = (text: string) => text.includes('GTW_ERR_TOO_MANY_EVENTS')
  // Two rounds within a second are too many. Those of a slow machine may not be, and 60 would be too many entries.
  for (let round = 0; round < 40 && !client.received.some(isRefusal); round++) {
    client.received.length = 0
    for (let sent = 0; sent < 12; sent++) client.send(event('run.cancel', { runId: 'none' }))
    await client.until((text) => client.received.length === 12 || isRefusal(text))
    client.send('41')
    client.ws.ping()
    await Promise.race([once(client.ws, 'pong'), client.untilClosed()])
    client.send('40')
    await client.until((text) => text.startsWith('40') || isRefusal(text))
  }
  t.ok(client.received.some(isRefusal))
  client.end()
})

t.test('one run too many: an error, then a disconnect', async (t) => {
  const silent = { kind: 'agent' as const, name: 'silent', run: () => wait(5_000, '', { ref: false }) }
  const { connect } = await buildGateway(t, { runnables: [silent], options: { limits: { runs: 3 } } })
  const client = await connect()
  const inbox = new Inbox(client)
  const gone = untilDisconnected(client)
  const start = () => client.emitWithAck('agent.run', { name: 'silent', input: 'Go' })
  t.match(await Promise.all([start(), start(), start()]), [{ runId: /./ }, { runId: /./ }, { runId: /./ }])
  t.match(await start(), { code: 'GTW_ERR_TOO_MANY_RUNS' })
  t.equal(await gone, 'io server disconnect')
  t.match(inbox.all, [{ event: 'agent.error', code: 'GTW_ERR_TOO_MANY_RUNS' }])
})

t.test(`${FRAMES} random frames: the process lives and serves others; SEED=${SEED}`, async (t) => {
  const gateway = await buildGateway(t, { runnables: [echo] })
  const next = random(SEED)
  const pick = <T>(all: readonly T[]): T => all[Math.floor(next() * all.length)]!
  const pieces = [
    '4',
    '40',
    '41',
    '42',
    '43',
    '45',
    '451-',
    '46',
    '2',
    '3',
    '5',
    '0',
    '1',
    '/',
    ',',
    '-',
    '[',
    ']',
    '{',
    '}',
    '"',
    ':',
    '9999999999',
    '-1',
    '1e308',
    'null',
    '/ns,',
    '["agent.run",',
    '{"name":"echo"',
    '\u0000',
    '{"_placeholder":true,"num":0}',
    '"run.watch"',
    '"input":"Hi"}',
    ']]',
    deep(70),
    '\ud800',
    '\\u0000'
  ]
  const frame = (): string | Buffer => {
    const length = Math.floor(next() * 12)
    if (next() < 0.1) return Buffer.from(Array.from({ length }, () => Math.floor(next() * 256)))
    const text = Array.from({ length }, () => pick(pieces)).join('')
    return next() < 0.5
      ? `42${Math.floor(next() * 99)}["${pick(['agent.run', 'run.watch', 'x'])}",${text}`
      : text
  }
  let client = await RawClient.connect(gateway.origin)
  let sockets = 1
  for (let sent = 0; sent < FRAMES; sent++) {
    if (client.closed) {
      client = await RawClient.connect(gateway.origin)
      sockets++
    }
    client.send(frame())
    if (sent % 10 === 0) await wait(0)
    if (sent % 2_000 === 0) await requireServed(gateway)
  }
  client.end()
  await requireServed(gateway)
  t.pass(`${sockets} sockets were lost on the way`)
})
