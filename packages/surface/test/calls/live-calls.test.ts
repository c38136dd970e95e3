import { randomBytes } from 'node:crypto'
import { mock } from 'node:test'
import { isVoiceRunnable, type VoiceInput } from '@svc/contract'
import { VOICE_ERR_NOT_A_VOICE } from '@svc/contract/errors'
import { scriptedRunnable, scriptedVoice } from '@svc/testing'
import t from 'tap'
import { renameRunnable } from '@svc/registry/engine'
import { callSurface, connect } from '../helpers/call-surface.ts'

t.test('a call is a run of the voice agent: outputs in order, audio as it was sent', async (t) => {
  const { start, runs } = callSurface(t, { runnables: [scriptedVoice()] })
  const call = await start()
  const connection = connect(call)
  const audio = randomBytes(48_000)
  for (let at = 0; at < audio.length; at += 960)
    call.receive({ type: 'audio', audio: audio.subarray(at, at + 960) })
  call.receive({ type: 'commit', itemId: 'first' })
  await connection.response()
  t.same(connection.audio, audio)
  t.same(
    connection.positions,
    [...connection.positions.keys()].map((index) => index + 1)
  )
  const types = connection.types().filter((type) => type !== 'audio')
  t.same(types, [
    'state',
    'item',
    'transcript',
    'response.start',
    'answer.start',
    'text',
    'answer.end',
    'response.end'
  ])
  call.end('hangup')
  t.same(await connection.over(), { status: 'completed' })
  const run = await runs.get(call.runId)
  t.match(run, { kind: 'agent', name: 'voice', owner: 'alice', status: 'completed' })
})

t.test(
  'the run counts as one of the voice agent: one report of events, a key of its own, no resumption',
  async (t) => {
    const voice = Object.defineProperty(scriptedVoice(), 'resumable', { value: true })
    const { start, runs } = callSurface(t, { runnables: [voice] })
    const events: string[] = []
    for (const name of ['run.start', 'run.complete'] as const)
      runs.events.on(name, ({ name: of }) => void events.push(`${name} ${of}`))
    const call = await start()
    t.match(await runs.find(call.runId), { registry: 'global', kind: 'agent', name: 'voice' })
    t.equal(await runs.stores.checkpoints.load(call.runId), undefined)
    call.end('hangup')
    await call.over
    t.same(events, ['run.start voice', 'run.complete voice'])
  }
)

t.test('only voice agents can be called; renamed ones are still voices', async (t) => {
  const { start } = callSurface(t, { runnables: [scriptedRunnable([], { name: 'chat' })] })
  await t.rejects(start({ name: 'chat' }), new VOICE_ERR_NOT_A_VOICE('agent', 'chat'))
  const renamed = renameRunnable(scriptedVoice(), 'other')
  t.ok(isVoiceRunnable(renamed))
  const other = callSurface(t, { runnables: [renamed] })
  const call = await other.start({ name: 'other' })
  const connection = connect(call)
  call.receive({ type: 'text', text: 'hello', respond: true })
  await connection.response()
  t.match(connection.outputs, [{ type: 'state' }, { type: 'item', text: 'hello' }])
})

t.test('who may not run the agent may neither start nor resume a call', async (t) => {
  let allowed = false
  const authorize = () => ({ allowed })
  const { start, calls } = callSurface(t, { runnables: [scriptedVoice()], authorize })
  await t.rejects(start(), { name: 'Forbidden' })
  await t.rejects(start({ name: 'unknown' }), { name: 'Forbidden' })
  allowed = true
  await t.rejects(start({ name: 'unknown' }), { name: 'UnknownRunnable' })
  const { runId, principal } = await start()
  allowed = false
  await t.rejects(calls.resume(runId, principal), { name: 'Forbidden' })
})

t.test('a lost connection is away, then back; without a return it is gone', async (t) => {
  const inputs: VoiceInput[] = []
  const voice = scriptedVoice(async function* ({ input }) {
    for await (const each of input) inputs.push(each)
    yield { type: 'text', text: 'Bye' }
  })
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const { start, calls } = callSurface(t, { runnables: [voice], grace: 10_000 })
  const call = await start()
  const [first, second] = [connect(call), connect(call)]
  call.disconnect(first)
  call.disconnect(second)
  mock.timers.tick(9_999)
  const third = connect(call)
  mock.timers.tick(100_000)
  call.disconnect(third)
  t.equal(calls.size, 1)
  mock.timers.tick(10_000)
  await call.over
  t.same(inputs, [{ type: 'away' }, { type: 'back' }, { type: 'away' }, { type: 'end', reason: 'gone' }])
  t.equal(calls.size, 0)
})

t.test('senders do not wait for a client that hung up or is gone', async (t) => {
  const { start } = callSurface(t, { runnables: [scriptedVoice()], grace: 0 })
  const hungUp = await start()
  hungUp.receive({ type: 'text', text: 'hello', respond: true })
  hungUp.end('hangup')
  t.same(await hungUp.over, { status: 'completed' })
  const gone = await start({ canClear: false })
  const connection = connect(gone)
  gone.receive({ type: 'text', text: 'hello', respond: true })
  await connection.until(() => connection.types().includes('audio'))
  gone.disconnect(connection)
  t.same(await gone.over, { status: 'completed' })
})

t.test('a call that does not end after its last input is canceled', async (t) => {
  const voice = scriptedVoice(async function* (_link, { signal }) {
    yield { type: 'text', text: 'I never listen' }
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
  })
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const { start } = callSurface(t, { runnables: [voice] })
  const call = await start()
  const connection = connect(call)
  call.end('hangup')
  mock.timers.tick(29_999)
  t.equal(connection.end, undefined)
  mock.timers.tick(1)
  t.same(await connection.over(), { status: 'canceled' })
})

t.test('a closing surface ends its calls with a code, after what they still say', async (t) => {
  const { start, calls } = callSurface(t, { runnables: [scriptedVoice()] })
  const connections = (await Promise.all([start(), start()])).map((call) => connect(call))
  await calls.close()
  for (const { outputs, end } of connections) {
    t.match(outputs.at(-1), { type: 'error', code: 'RUN_ERR_DRAINING' })
    t.same(end, { status: 'completed' })
  }
  const late = connect(await start())
  t.same(await late.over(), { status: 'completed' })
})

t.test('settings are checked, at the start and later; what is refused changes nothing', async (t) => {
  const inputs: VoiceInput[] = []
  const voice = scriptedVoice(async function* ({ input }) {
    for await (const each of input) inputs.push(each)
    yield { type: 'text', text: 'Bye' }
  })
  Object.defineProperty(voice, 'toolNames', { value: ['book'] })
  const { start } = callSurface(t, { runnables: [voice], clientTools: true })
  const tool = (name: string) => ({ name, description: '', input: { type: 'object' } })
  await t.rejects(start({ settings: { tools: [tool('book')] } }), { code: 'RUN_ERR_TOOL_NAME_TAKEN' })
  const call = await start({ settings: { tools: [tool('look')] } })
  const refused = [
    [{ tools: [tool('book')] }, 'RUN_ERR_TOOL_NAME_TAKEN'],
    [{ tools: [tool('a'), tool('a')] }, 'RUN_ERR_BAD_INPUT'],
    [{ instructions: 'Shout' }, 'RUN_ERR_CLIENT_INSTRUCTIONS'],
    [
      { input: { type: 'audio/pcmu', rate: 8_000 }, output: { type: 'audio/mp3', rate: 1 } },
      'VOICE_ERR_BAD_FORMAT'
    ]
  ] as const
  for (const [settings, code] of refused)
    t.throws(() => call.receive({ type: 'configure', settings: settings as never }), { code })
  t.throws(() => call.receive({ type: 'audio', audio: new Uint8Array(3) }), { code: 'VOICE_ERR_BAD_FRAME' })
  const settings = { input: { type: 'audio/pcmu', rate: 8_000 }, tools: [tool('see')] } as const
  call.receive({ type: 'configure', settings: settings as never })
  call.receive({ type: 'audio', audio: new Uint8Array(3) })
  call.end('hangup')
  await call.over
  t.match(inputs, [{ type: 'configure', settings }, { type: 'audio' }, { type: 'end' }])
})

t.test('an agent gets frames of its own, which no later one overwrites', async (t) => {
  const frames: Uint8Array[] = []
  const voice = scriptedVoice(async function* ({ input }) {
    for await (const each of input) if (each.type === 'audio') frames.push(each.audio)
    yield { type: 'text', text: 'Bye' }
  })
  const { start } = callSurface(t, { runnables: [voice] })
  const call = await start()
  const received = Buffer.alloc(101, 1)
  call.receive({ type: 'audio', audio: received.subarray(1, 5) })
  received.fill(2)
  call.end('hangup')
  await call.over
  t.same(frames, [new Uint8Array([1, 1, 1, 1])])
  t.same([frames[0]!.byteOffset, frames[0]!.buffer.byteLength], [0, 4])
  t.equal(frames[0]!.constructor, Uint8Array)
})

t.test('a call answers inputs of its own run only, in the name of its caller', async (t) => {
  const asking = scriptedVoice(async function* (_link, context) {
    const { content } = await context.callClient({ toolCallId: 'call', toolName: 'look', args: {} })
    yield { type: 'text', text: String(content) }
  })
  const { start, runs } = callSurface(t, { runnables: [asking] })
  const [mine, other] = [await start(), await start()]
  const inputOf = async (runId: string) => {
    for await (const part of runs.parts(runId)) if (part.type === 'input.request') return part.inputId
    throw new Error('no input')
  }
  const foreign = await inputOf(other.runId)
  const answer = { action: 'accept', content: 'blue' } as const
  await t.rejects(mine.answer(foreign, answer), { code: 'RUN_ERR_INPUT_NOT_FOUND' })
  await t.rejects(mine.answer('nothing', answer), { code: 'RUN_ERR_INPUT_NOT_FOUND' })
  await mine.answer(await inputOf(mine.runId), answer)
  t.same(await mine.over, { status: 'completed' })
  t.match(await runs.get(mine.runId), { result: { text: 'blue' } })
})
