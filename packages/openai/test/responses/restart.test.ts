import { join } from 'node:path'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import store from '@svc/store'
import OpenAI from 'openai'
import type { ResponseStreamEvent } from 'openai/resources/responses/responses'
import { KillableService } from '@tools/wires/killable-service'
import t from 'tap'
import { locate } from '../helpers/agents.ts'
import { openAiApp } from '../helpers/openai-app.ts'

const SERVICE = new URL('../helpers/killable-service.ts', import.meta.url)
const model = 'support'

t.setTimeout(120_000)

// One after the other at one address, since a process takes long to start.
const service = new KillableService(t, SERVICE)
await service.start()
const client = () => new OpenAI({ baseURL: `${service.origin}/v1`, apiKey: 'none', maxRetries: 0 })

t.test('kill -9 in the middle of an answer: the client follows after its last event', async (t) => {
  const stream = await client().responses.create({
    model,
    input: 'Count',
    background: true,
    stream: true
  })
  const seen: ResponseStreamEvent[] = []
  const cut = async () => {
    for await (const event of stream) {
      seen.push(event)
      if (seen.length === 6) void service.kill()
    }
  }
  await t.rejects(cut())
  await service.start()
  const [created] = seen
  const { id } = created!.type === 'response.created' ? created!.response : { id: '' }
  const rest = await client().responses.retrieve(id, {
    stream: true,
    starting_after: seen.at(-1)!.sequence_number
  })
  for await (const event of rest) seen.push(event)
  t.same(
    seen.map(({ sequence_number: number }) => number),
    seen.map((_, index) => index)
  )
  const late = client().responses.stream({ response_id: id })
  const replayed: unknown[] = []
  late.on('event', ({ type }) => void replayed.push(type))
  const final = await late.finalResponse()
  t.same(
    seen.map(({ type }) => type),
    replayed
  )
  t.equal(final.output_text, 'one two three four', 'what the killed process had said does not count')
  const incomplete = seen.flatMap((event) =>
    event.type === 'response.output_item.done' && event.item.type === 'message' ? [event.item.status] : []
  )
  t.same(incomplete, ['incomplete', 'completed'])
})

t.test('kill -9 while a tool of the client is called: its output reaches the next process', async (t) => {
  const first = await client()
    .responses.stream({ model, input: 'Where am I?', tools: [locate], background: true })
    .finalResponse()
  const [call] = first.output.flatMap((item) => (item.type === 'function_call' ? [item] : []))
  await service.kill()
  await service.start()
  const second = await client().responses.create({
    model,
    previous_response_id: first.id,
    input: [{ type: 'function_call_output', call_id: call!.call_id, output: 'Oslo' }]
  })
  t.match(second, { status: 'completed', output_text: 'You are there', previous_response_id: first.id })
  t.equal((await client().responses.retrieve(first.id)).status, 'completed')
})

t.test('an orderly restart breaks streams off, so that clients resume', async (t) => {
  const url = `sqlite:${join(t.testdir(), 'app.db')}`
  const scripted = scriptedModel((_, index) => ({
    text: ['one ', 'two'],
    ...(index === 0 && { hangs: 'stream' })
  }))
  const serve = async (port: number) => {
    const served = await openAiApp(t, {
      fastify: { forceCloseConnections: false },
      before: async (app) => app.register(store, { url }),
      add: (registry) => new Agent({ name: model, model: scripted, registry }),
      port
    })
    return { ...served, port: Number(new URL(served.origin).port) }
  }
  const first = await serve(0)
  const stream = await first
    .client()
    .responses.create({ model, input: 'Count', background: true, stream: true })
  let id = ''
  let text = ''
  let closing: Promise<void> | undefined
  const read = async () => {
    for await (const event of stream) {
      if (event.type === 'response.created') id = event.response.id
      if (event.type === 'response.output_text.delta') text += event.delta
      if (text === 'one two') closing ??= first.app.close() as unknown as Promise<void>
    }
  }
  await t.rejects(read(), 'it is no whole answer')
  await closing
  const second = await serve(first.port)
  t.equal(
    (await second.client().responses.stream({ response_id: id }).finalResponse()).output_text,
    'one two'
  )
})
