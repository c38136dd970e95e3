import type { RunnableDefinition, RunSummary } from '@svc/registry'
import { endsWithin } from '@tools/wires/ends-within'
import t from 'tap'
import { chunks, createQuestioner, createWaiting, worker } from '../helpers/agents.ts'
import { buildApp, echo, eventsOf, say, sayV1, type RpcReply } from '../helpers/build-app.ts'

const post = (url: string, method: string, params: object, signal?: AbortSignal) =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    ...(signal && { signal })
  })

interface Artifact {
  artifactId: string
  parts: { text?: string }[]
}

/** The task that a client assembles from a stream. */
function gather(events: RpcReply[]): Map<string, string> {
  const kept = new Map<string, string>()
  const textOf = ({ parts }: Artifact) => parts.map((part) => part.text ?? JSON.stringify(part)).join('')
  for (const { result } of events) {
    for (const each of (result.artifacts ?? []) as Artifact[]) kept.set(each.artifactId, textOf(each))
    if (result.kind !== 'artifact-update') continue
    const { artifact, append } = result as { artifact: Artifact; append: boolean }
    kept.set(artifact.artifactId, (append ? (kept.get(artifact.artifactId) ?? '') : '') + textOf(artifact))
  }
  return kept
}

t.setTimeout(120_000)

t.test('a stream adds up to its task', async (t) => {
  const { stream, rpc } = await buildApp(t, { runnables: [worker] })
  const events = await stream('message/stream', say('x'))
  const { result } = await rpc('tasks/get', { id: events[0]!.result.id })
  t.same(Object.fromEntries(gather(events)), Object.fromEntries(gather([{ ...events[0]!, result }])))
  t.match(result.artifacts, [
    { artifactId: 'answer', parts: [{ text: 'It is 3.' }, { kind: 'data', data: { sum: 3 } }] },
    { artifactId: 'tool-a', name: 'add', parts: [{ data: { sum: 3 } }], metadata: { toolCallId: 'a' } },
    { artifactId: 'tool-b', name: 'say', parts: [{ text: 'words' }] }
  ])
  t.notMatch(JSON.stringify(events), /not mine/)
  const states = events.map(({ result: each }) => each.status?.state).filter(Boolean)
  t.same(states, ['submitted', 'working', 'completed'])
})

t.test('the texts of an answer differ in nothing but the text, on every wire', async (t) => {
  const texts = [
    'a',
    'b',
    '"',
    String.raw`\u0000\n`,
    '\n\r\t\u0000\u2028',
    'ä€😀',
    '',
    '{"text":"b"}',
    '$&',
    'z'.repeat(200_000)
  ]
  const speaker: RunnableDefinition = {
    kind: 'agent',
    name: 'speaker',
    async *stream() {
      for (const text of texts) {
        yield { type: 'text', text }
        await new Promise(setImmediate)
      }
    }
  }
  const { url } = await buildApp(t, { runnables: [speaker] })
  const ask = async (path: string, body: object) => {
    const headers = { 'content-type': 'application/json' }
    const reply = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    const lines = (await reply.text()).split('\n').filter((line) => line.startsWith('data: '))
    return lines.map((line) => line.slice(6))
  }
  const rest = { message: { messageId: 'm', role: 'ROLE_USER', content: [{ text: 'x' }] } }
  const wires = {
    'message/stream': await ask('', { jsonrpc: '2.0', id: 1, method: 'message/stream', params: say('x') }),
    SendStreamingMessage: await ask('', {
      jsonrpc: '2.0',
      id: 'an "id"',
      method: 'SendStreamingMessage',
      params: sayV1('x')
    }),
    'v1/message:stream': await ask('/v1/message:stream', rest),
    'message:stream': await ask('/message:stream', sayV1('x'))
  }
  for (const [wire, messages] of Object.entries(wires)) {
    const said = messages.filter((each) => each.includes('"artifactId":"answer"')).slice(0, -1)
    const found = said.map((each) => /"text":("(?:[^"\\]|\\.)*")\}/.exec(each)![1]!)
    t.equal(found.map((json) => JSON.parse(json) as string).join(''), texts.join(''), wire)
    const [first, second] = said.map((each, index) => each.replace(found[index]!, () => '""'))
    t.equal(second, first?.replace('"append":false', '"append":true'), wire)
    for (const [index, each] of said.entries()) {
      t.equal(each, JSON.stringify(JSON.parse(each)), wire)
      if (index > 0)
        t.equal(
          each.replace(found[index]!, () => '""'),
          second,
          wire
        )
    }
  }
})

const turn = (index: number, status: 'completed' | 'interrupted', text: string) =>
  ({ type: 'voice.turn', index, itemId: `i${index}`, status, heardMs: 1, text, latency: {} }) as const

/** Turns of calls: `[text increments, what was spoken of them]`. */
const calls: Record<string, readonly (readonly [said: readonly string[], spoken?: string])[]> = {
  whole: [[['It is ', 'noon.'], 'It is noon.']],
  interrupted: [[['It is ', 'noon.'], 'It is']],
  silent: [[['It is '], '']],
  mute: [[[], '']],
  several: [
    [['It is ', 'noon.'], 'It is'],
    [['Yes', '?'], 'Yes?'],
    [[], '']
  ],
  late: [[['It is noon.'], 'It is'], [['Ye', 's']]],
  steps: [[['One moment. ', 'STEP', 'Noon.'], 'One moment. Noon.']],
  begun: [[['It is'], 'It is'], [['STEP']]],
  mid: [
    [['It is'], 'It is'],
    [['STEP', 'Ye', 's?'], 'Yes']
  ]
}

for (const [name, turns] of Object.entries(calls))
  t.test(`a stream of a call adds up to its task: ${name}`, async (t) => {
    const calling: RunnableDefinition = {
      kind: 'agent',
      name: 'calling',
      async *stream() {
        for (const [index, [said, spoken]] of turns.entries()) {
          for (const text of said)
            yield text === 'STEP' ? { type: 'step.start', index: 0, attempt: 1 } : { type: 'text', text }
          if (spoken !== undefined) yield turn(index, 'interrupted', spoken)
        }
      }
    }
    const { stream, rpc } = await buildApp(t, { runnables: [calling] })
    const events = await stream('message/stream', say('x'))
    const { result } = await rpc('tasks/get', { id: events[0]!.result.id })
    const read = Object.fromEntries(gather([{ ...events[0]!, result }]))
    t.same({ answer: '', ...Object.fromEntries(gather(events)) }, { answer: '', ...read })
  })

/** An agent whose first attempt of a step is void, with the call that it made. */
const repeating: RunnableDefinition = {
  kind: 'agent',
  name: 'repeating',
  async *stream() {
    const add = (toolCallId: string) => ({ toolCallId, toolName: 'add' })
    yield { type: 'step.start', index: 0, attempt: 1 }
    yield { type: 'tool.call', ...add('a'), args: {} }
    yield { type: 'tool.result', ...add('a'), result: 1, durationMs: 1 }
    yield { type: 'step.start', index: 1, attempt: 1 }
    yield { type: 'tool.call', ...add('b'), args: {} }
    yield { type: 'step.start', index: 1, attempt: 2 }
    yield { type: 'tool.call', ...add('c'), args: {} }
    yield { type: 'tool.result', ...add('c'), result: 2, durationMs: 1 }
  }
}

t.test('a call of a void attempt has no place among the artifacts, of a stream or a task', async (t) => {
  const { stream, rpc } = await buildApp(t, { runnables: [repeating] })
  const events = await stream('message/stream', say('x'))
  const { result } = await rpc('tasks/get', { id: events[0]!.result.id })
  t.match(result.artifacts, [
    { artifactId: 'tool-a', metadata: { toolCallId: 'a' } },
    { artifactId: 'tool-c', metadata: { toolCallId: 'c' } }
  ])
  t.same(Object.fromEntries(gather(events)), Object.fromEntries(gather([{ ...events[0]!, result }])))
})

/** The same call in each step, before a step whose members have called tools too when it is repeated; its last step says nothing. */
const stumbling: RunnableDefinition = {
  kind: 'agent',
  name: 'stumbling',
  async *stream() {
    const call = (result: number, source: string[] = []) => {
      const about = { toolCallId: 'a', toolName: 'add', ...(source.length > 0 && { source }) }
      return [
        { type: 'tool.call', args: {}, ...about },
        { type: 'tool.result', result: String(result), durationMs: 1, ...about }
      ] as const
    }
    yield { type: 'step.start', index: 0, attempt: 1 }
    yield* call(1)
    yield { type: 'step.start', index: 1, attempt: 1 }
    yield { type: 'text', text: 'Half' }
    yield* call(2)
    yield* call(3, ['ada'])
    yield { type: 'step.start', index: 1, attempt: 2 }
    yield* call(4, ['bob'])
    yield* call(5, ['bob'])
    throw new Error('off')
  }
}

t.test(
  'the result of a void call is replaced by nothing, and what a failed run has said before',
  async (t) => {
    const { stream, rpc } = await buildApp(t, { runnables: [stumbling] })
    const events = await stream('message/stream', say('x'))
    const { result } = await rpc('tasks/get', { id: events[0]!.result.id })
    const kept = { 'tool-a': '1', 'tool-ada/a': '3', 'tool-bob/a': '4', 'tool-bob/a#2': '5' }
    t.same(
      result.artifacts.map(({ artifactId, parts }: Artifact) => [artifactId, parts[0]!.text]),
      Object.entries(kept)
    )
    t.same(Object.fromEntries(gather(events)), { ...kept, 'tool-a#2': '', answer: '' })
    t.match(
      events.map(({ result: each }) => each.artifact).find((each) => each?.metadata?.void),
      { artifactId: 'tool-a#2', metadata: { toolCallId: 'a', void: true } }
    )
  }
)

t.test('parts that the protocol has no place for are left out', async (t) => {
  const others: RunnableDefinition = {
    kind: 'agent',
    name: 'others',
    async *stream() {
      yield { type: 'tool.call.delta', toolCallId: 'a', toolName: 'add', delta: '{}' }
      yield { type: 'text', text: 'Done.' }
      yield { type: 'citation', url: 'https://pages.example', quote: 'hidden' }
      yield { type: 'data', name: 'hidden', value: 1 }
      yield { type: 'data', name: 'hidden', value: 1, transient: true }
    }
  }
  const { stream, rpc, url } = await buildApp(t, { runnables: [others] })
  const events = await stream('message/stream', say('x'))
  const { result } = await rpc('tasks/get', { id: events[0]!.result.id })
  t.match(result, { status: { state: 'completed' }, artifacts: [{ parts: [{ text: 'Done.' }] }] })
  t.same(Object.fromEntries(gather(events)), { answer: 'Done.' })
  const response = await post(url, 'SendStreamingMessage', sayV1('x'))
  t.notMatch(JSON.stringify(events) + (await response.text()), /hidden|example/)
})

t.test('two subscribers get the same events in order, a late one after the task', async (t) => {
  const waiting = createWaiting()
  const { url } = await buildApp(t, { runnables: [waiting.runnable] })
  const [one, first] = await begin(await post(url, 'SendStreamingMessage', sayV1('x')))
  const { id } = first.result.task
  await waiting.reached()
  const two = await post(url, 'SubscribeToTask', { id })
  const three = await post(url, 'SubscribeToTask', { id })
  waiting.goOn()
  const told = await Promise.all([one, two.text(), three.text()])
  const [events, late, later] = told.map(eventsOf) as [RpcReply[], RpcReply[], RpcReply[]]
  t.same(late, later)
  t.match(late[0], {
    result: {
      task: { id, status: { state: 'TASK_STATE_WORKING' }, artifacts: [{ parts: [{ text: 'one ' }] }] }
    }
  })
  t.same(late.slice(1), events.slice(-3), 'the rest is the same as of the first')
  t.match(events.at(-1), { result: { statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } } })
})

t.test('a reader that leaves affects neither the task nor other readers', async (t) => {
  const waiting = createWaiting()
  const { app, url, rpc } = await buildApp(t, { runnables: [waiting.runnable] })
  const left = new Promise((resolve) =>
    app.server.once('request', (_request, reply) => reply.once('close', resolve))
  )
  const leaving = new AbortController()
  const response = await post(url, 'message/stream', say('x'), leaving.signal)
  const reader = response.body!.getReader()
  const { value } = await reader.read()
  const [first] = eventsOf(Buffer.from(value!).toString())
  const other = await post(url, 'tasks/resubscribe', { id: first!.result.id })
  leaving.abort()
  await reader.closed.catch(() => {})
  await left
  waiting.goOn()
  const events = eventsOf(await other.text())
  t.match(events.at(-1), { result: { status: { state: 'completed' } } })
  t.match(await rpc('tasks/get', { id: first!.result.id }), { result: { status: { state: 'completed' } } })
})

t.test('cancel aborts the agent within 200 ms', async (t) => {
  const waiting = createWaiting()
  const { stream, rpc, runs } = await buildApp(t, { runnables: [waiting.runnable] })
  const streaming = stream('message/stream', say('x'))
  await waiting.reached()
  const [{ runId: id }] = (await runs.list({ limit: 1 })).runs as [RunSummary]
  const canceled = rpc('tasks/cancel', { id })
  t.ok(await endsWithin(200, waiting.aborted()))
  t.match(await canceled, { result: { status: { state: 'canceled' } } })
  t.match((await streaming).at(-1), { result: { status: { state: 'canceled' }, final: true } })
})

// In proportion that is 40 times; 1,600 if each chunk cost as much as all before it.
t.test('4,000 chunks cost in proportion to 100', async (t) => {
  const { app } = await buildApp(t, { runnables: [echo, chunks(100), chunks(4_000)] })
  const cost = async (name: string, repeat: number) => {
    const before = process.cpuUsage()
    for (let index = 0; index < repeat; index++) {
      const payload = {
        jsonrpc: '2.0',
        id: 1,
        method: 'message/stream',
        params: say('x', { metadata: { agentName: name } })
      }
      const { body } = await app.inject({ method: 'POST', url: '/a2a', payload })
      if (!body.includes('"completed"')) throw new Error('the stream is not whole')
    }
    const { user, system } = process.cpuUsage(before)
    return (user + system) / repeat
  }
  await cost('chunks-100', 100)
  await cost('chunks-4000', 3)
  const ratios: number[] = []
  for (let round = 0; round < 5; round++)
    ratios.push((await cost('chunks-4000', 3)) / (await cost('chunks-100', 60)))
  const ratio = ratios.sort((a, b) => a - b)[2]!
  t.ok(ratio <= 200, `ratio ${ratio}`)
})

/** The first event, and a promise of the text of the whole stream. */
async function begin(response: Response): Promise<[Promise<string>, RpcReply]> {
  const [head, all] = response.body!.tee()
  const { value } = await head.getReader().read()
  const [first] = eventsOf(Buffer.from(value!).toString())
  return [new Response(all).text(), first!]
}

t.test(
  'every status of a stream has a timestamp, the same for each reader and never an earlier one',
  async (t) => {
    const app = await buildApp(t, { runnables: [createQuestioner(undefined, 'free')] })
    const timesOf = (events: RpcReply[]) =>
      events.flatMap(({ result }) => {
        const { statusUpdate, task } = result as Record<
          string,
          { status: { state: string; timestamp: string } }
        >
        const { state, timestamp } = (statusUpdate ?? task)!.status
        t.match(timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, state)
        return [{ state, timestamp }]
      })
    const first = await app.stream('SendStreamingMessage', sayV1('x'))
    const taskId = (first[0]!.result as { task: { id: string } }).task.id
    const asked = timesOf(first)
    t.match(asked.at(-1), { state: 'TASK_STATE_INPUT_REQUIRED' })
    t.same(
      asked,
      asked.toSorted((a, b) => a.timestamp.localeCompare(b.timestamp))
    )
    const [again] = timesOf(
      await app.stream('SendStreamingMessage', sayV1('', { taskId, parts: [{ text: 'a' }, { data: {} }] }))
    )
    t.same(again, asked.at(-1))
  }
)
