import Instructor from '@instructor-ai/instructor'
import { ChatOpenAI } from '@langchain/openai'
import type { ScriptedTurn } from '@svc/runtime/testing'
import { callsOf } from '@tools/wires/agents'
import OpenAI from 'openai'
import t from 'tap'
import { z } from 'zod'
import { supportAgent } from '../helpers/agents.ts'
import { openAiApp, type OpenAiApp } from '../helpers/openai-app.ts'
import { locateTool, said } from './helpers/completions.ts'

const place = { city: 'Oslo', exact: true }
const Place = z.object({ city: z.string(), exact: z.boolean() })
const asked = 'Where am I?'

/** A model that calls the tool that it must, and else answers with JSON: instructor's streams read none in a fence. */
function obedient({ toolChoice }: { toolChoice?: { type: string; toolName?: string } }): ScriptedTurn {
  if (toolChoice?.type === 'tool') return callsOf([toolChoice.toolName!, place])
  return { text: ['{"city":"Os', 'lo","exact":true}'] }
}

/** The statuses of all runs, each of which must end. */
async function endsOf({ runs }: OpenAiApp): Promise<string[]> {
  const { runs: all } = await runs.list({ limit: 100 })
  for (const { runId } of all) for await (const _ of runs.parts(runId));
  return [...new Set((await runs.list({ limit: 100 })).runs.map(({ status }) => status))].toSorted()
}

t.test('instructor, in all its modes', async (t) => {
  const { add } = supportAgent(obedient as never)
  const app = await openAiApp(t, { add })
  const { baseURL } = app
  const oai = new OpenAI({ baseURL, apiKey: 'none', maxRetries: 0 })
  for (const mode of ['TOOLS', 'FUNCTIONS', 'JSON', 'MD_JSON', 'JSON_SCHEMA', 'THINKING_MD_JSON'] as const) {
    const client = Instructor({ client: oai as never, mode })
    const request = {
      model: 'support',
      messages: [{ role: 'user' as const, content: asked }],
      response_model: { schema: Place as never, name: 'Place' }
    }
    const found = await client.chat.completions.create(request)
    t.match(found, place, mode)
    if (mode === 'THINKING_MD_JSON') continue
    const partials: unknown[] = []
    for await (const partial of await client.chat.completions.create({ ...request, stream: true }))
      partials.push(partial)
    t.match(partials.at(-1), place, `${mode}, streamed`)
  }
  t.strictSame(await endsOf(app), ['canceled', 'completed'], 'no run waits for a result that is never sent')
})

t.test('LangChain: invoke, stream and structured output', async (t) => {
  const { add } = supportAgent(obedient as never)
  const app = await openAiApp(t, { add })
  const { baseURL } = app
  const model = new ChatOpenAI({
    model: 'support',
    apiKey: 'none',
    maxRetries: 0,
    configuration: { baseURL }
  })
  t.match((await model.invoke(asked)).content, /Oslo/)
  const chunks = await Array.fromAsync(await model.stream(asked))
  t.match(chunks.map(({ text }) => text).join(''), /Oslo/)
  for (const method of ['functionCalling', 'jsonSchema', 'jsonMode'] as const)
    t.strictSame(
      await model.withStructuredOutput(Place as never, { method, name: 'Place' }).invoke(asked),
      place,
      method
    )
  t.strictSame(await endsOf(app), ['canceled', 'completed'], 'no run waits for a result that is never sent')
})

t.test(
  'a call of the one tool that a request names ends its run, and its result is answered by another',
  async (t) => {
    const { add, model: scripted } = supportAgent((call) =>
      call.prompt.at(-1)?.role === 'user' ? callsOf(['locate', place]) : 'You are in Oslo'
    )
    const app = await openAiApp(t, { add, options: { onDisconnect: 'continue' } })
    const { chat } = app.client()
    const named = { type: 'function' as const, function: { name: 'locate' } }
    const request = { model: 'support', messages: said(asked), tools: [locateTool], tool_choice: named }
    const { choices } = await chat.completions.create(request)
    const { message } = choices[0]!
    const streamed = await Array.fromAsync(await chat.completions.create({ ...request, stream: true }))
    const calls = streamed.flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? [])
    t.match(calls, [{ function: { name: 'locate', arguments: JSON.stringify(place) } }])

    const { id } = message.tool_calls![0]!
    const result = { role: 'tool' as const, tool_call_id: id, content: 'Storgata 1' }
    const next = await chat.completions.create({
      ...request,
      tool_choice: 'auto',
      messages: [...request.messages, message, result]
    })
    t.match(next.choices, [{ finish_reason: 'stop', message: { content: 'You are in Oslo' } }])
    t.match(JSON.stringify(scripted.calls.at(-1)!.prompt), /Where am I.*locate.*Storgata 1/)
    t.strictSame(await endsOf(app), ['canceled', 'completed'])
    t.equal((await app.runs.list({ limit: 10 })).runs.length, 3)

    t.comment('a call among others keeps its run, whatever the next request names')
    const kept = await chat.completions.create({ ...request, tool_choice: 'required' }).asResponse()
    const runId = kept.headers.get('x-run-id')
    const first = ((await kept.json()) as typeof next).choices[0]!.message
    const output = { ...result, tool_call_id: first.tool_calls![0]!.id }
    const { response } = await chat.completions
      .create({ ...request, messages: [...request.messages, first, output] })
      .withResponse()
    t.equal(response.headers.get('x-run-id'), runId)
  }
)
