import { defineRunnable } from '@svc/registry'
import { scriptedRunnable } from '@svc/testing'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import type { Response, ResponseStreamEvent } from 'openai/resources/responses/responses'
import { callsOf } from '@tools/wires/agents'
import t from 'tap'
import { openAiApp } from '../helpers/openai-app.ts'
import { locate, supportAgent } from '../helpers/agents.ts'

/** An agent that says "one ", waits for `go`, and says "two". */
function slowAgent() {
  const { promise, resolve: go } = Promise.withResolvers<void>()
  const aborted = Promise.withResolvers<void>()
  const slow = defineRunnable({
    kind: 'agent',
    name: 'slow',
    async *stream(_, { signal }) {
      signal.addEventListener('abort', () => aborted.resolve())
      yield { type: 'text', text: 'one ' }
      await Promise.race([promise, aborted.promise])
      yield { type: 'text', text: 'two' }
    }
  })
  return { slow, go, aborted: aborted.promise }
}

async function collect(stream: AsyncIterable<ResponseStreamEvent>): Promise<ResponseStreamEvent[]> {
  const events: ResponseStreamEvent[] = []
  for await (const event of stream) events.push(event)
  return events
}

t.test('in the background: retrieve, follow after any event, and the end', async (t) => {
  const { slow, go } = slowAgent()
  const { client } = await openAiApp(t, { runnables: [slow] })
  const openai = client()
  const begun = await openai.responses.create({ model: 'slow', input: 'Go', background: true })
  t.match(begun, { status: 'in_progress', background: true, completed_at: null })
  const all = collect(await openai.responses.retrieve(begun.id, { stream: true }))
  const rest = collect(await openai.responses.retrieve(begun.id, { stream: true, starting_after: 3 }))
  go()
  const events = await all
  t.same(
    events.map(({ sequence_number: number }) => number),
    events.map((_, index) => index)
  )
  t.same(await rest, events.slice(4))
  const ended = await openai.responses.retrieve(begun.id)
  t.match(ended, { status: 'completed', output_text: 'one two', completed_at: Number })
  const late = openai.responses.stream({ response_id: begun.id, starting_after: 3 })
  t.same(await collect(late), events.slice(4))
  t.equal((await late.finalResponse()).output_text, 'one two')
})

t.test('a stream in the background that is cut goes on', async (t) => {
  const { slow, go } = slowAgent()
  const { client } = await openAiApp(t, { runnables: [slow] })
  const openai = client()
  const stream = await openai.responses.create({ model: 'slow', input: 'Go', background: true, stream: true })
  let id = ''
  let last = -1
  for await (const event of stream) {
    if (event.type === 'response.created') id = event.response.id
    last = event.sequence_number
    if (event.type === 'response.output_text.delta') break
  }
  go()
  const rest = await collect(await openai.responses.retrieve(id, { stream: true, starting_after: last }))
  t.match(rest[0], { sequence_number: last + 1, delta: 'two' })
  t.equal(rest.at(-1)!.type, 'response.completed')
})

t.test('a client that leaves ends a run that is not in the background', async (t) => {
  const { slow, aborted } = slowAgent()
  const { client, runs } = await openAiApp(t, { runnables: [slow] })
  const stream = await client().responses.create({ model: 'slow', input: 'Go', stream: true })
  for await (const event of stream) if (event.type === 'response.output_text.delta') break
  await aborted
  const { runs: listed } = await runs.stores.runs.list({ limit: 1 })
  for await (const _ of runs.parts(listed[0]!.runId));
  t.equal((await runs.find(listed[0]!.runId))!.status, 'canceled')
})

t.test('a response is canceled, also while it waits', async (t) => {
  const { slow } = slowAgent()
  const { add } = supportAgent([callsOf(['locate', {}]), 'Fine'])
  const { client, runs } = await openAiApp(t, { runnables: [slow], add })
  const openai = client()
  const stream = openai.responses.stream({ model: 'slow', input: 'Go', background: true })
  const created = new Promise<Response>((resolve) => {
    stream.on('response.created', ({ response }) => resolve(response))
  })
  const { id } = await created
  const canceled = await openai.responses.cancel(id)
  t.equal(canceled.status, 'cancelled')
  const final = await stream.finalResponse()
  t.match(final, { status: 'cancelled', incomplete_details: null })
  t.match((await openai.responses.cancel(id)).status, 'cancelled', 'twice does no harm')

  const first = await openai.responses.create({ model: 'support', input: 'Where?', tools: [locate] })
  await t.rejects(openai.responses.delete(first.id), { status: 409, code: 'OPENAI_ERR_UNDER_WAY' })
  t.equal((await openai.responses.cancel(first.id)).status, 'completed', 'it was over before')
  const runId = first.id.slice('resp_'.length)
  for await (const _ of runs.parts(runId));
  t.equal((await runs.find(runId))!.status, 'canceled')
  await openai.responses.delete(first.id)
})

t.test('a run that fails, and one that is cut by its limits', async (t) => {
  const fails = scriptedRunnable(
    [
      { type: 'text', text: 'So far' },
      () => {
        throw new Error('a secret of the service')
      }
    ],
    { name: 'fails' }
  )
  const { client } = await openAiApp(t, {
    runnables: [fails],
    add(registry) {
      new Agent({ name: 'long', model: scriptedModel([{ text: 'Cut', finishReason: 'length' }]), registry })
      const loops = scriptedModel(() => ({ toolCalls: [{ toolName: 'nothing', args: {} }] }))
      new Agent({ name: 'loops', model: loops, registry, maxSteps: 2 })
    }
  })
  const openai = client()
  const failed = await openai.responses.create({ model: 'fails', input: 'Go' })
  t.match(failed, { status: 'failed', error: { code: 'RUN_ERR_FAILED' } })
  t.notMatch(JSON.stringify(failed), /secret/)
  t.match(failed.output, [{ type: 'message', status: 'incomplete', content: [{ text: 'So far' }] }])
  const stream = openai.responses.stream({ model: 'fails', input: 'Go' })
  t.equal((await stream.finalResponse()).status, 'failed')

  const long = await openai.responses.stream({ model: 'long', input: 'Go' }).finalResponse()
  t.match(long, {
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
    output_text: 'Cut'
  })
  const looped = await openai.responses.create({ model: 'loops', input: 'Go' })
  t.match(looped, { status: 'incomplete', incomplete_details: { reason: 'max_messages' } })
})

t.test('a request for a conversation under way waits for its turn', async (t) => {
  const first = Promise.withResolvers<void>()
  const model = scriptedModel((_, index) => `answer ${index}`)
  const { client } = await openAiApp(t, {
    add: (registry) =>
      new Agent({
        name: 'support',
        model,
        registry,
        prepareStep: async ({ messages }) => {
          if (JSON.stringify(messages).includes('one')) await first.promise
          return undefined
        }
      })
  })
  const openai = client()
  const conversation = 'conv-1'
  const one = await openai.responses.create({
    model: 'support',
    input: 'one',
    conversation,
    background: true
  })
  const two = await openai.responses.create({
    model: 'support',
    input: 'two',
    conversation,
    background: true
  })
  const three = await openai.responses.create({
    model: 'support',
    input: 'three',
    previous_response_id: one.id,
    background: true
  })
  first.resolve()
  const ends = await Promise.all(
    [one, two, three].map(({ id }) => openai.responses.stream({ response_id: id }).finalResponse())
  )
  t.same(
    ends.map(({ output_text: text, status }) => [text, status]),
    ['answer 0', 'answer 1', 'answer 2'].map((text) => [text, 'completed'])
  )
})
