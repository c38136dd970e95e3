import Instructor from '@instructor-ai/instructor'
import { ChatOpenAI } from '@langchain/openai'
import type { ScriptedTurn } from '@svc/runtime/testing'
import { callsOf } from '@tools/wires/agents'
import OpenAI from 'openai'
import t from 'tap'
import { z } from 'zod'
import { supportAgent } from '../helpers/agents.ts'
import { openAiApp } from '../helpers/openai-app.ts'

const place = { city: 'Oslo', exact: true }
const Place = z.object({ city: z.string(), exact: z.boolean() })
const asked = 'Where am I?'

/** A model that calls the tool that it must, and else answers with JSON: instructor's streams read none in a fence. */
function obedient({ toolChoice }: { toolChoice?: { type: string; toolName?: string } }): ScriptedTurn {
  if (toolChoice?.type === 'tool') return callsOf([toolChoice.toolName!, place])
  return { text: ['{"city":"Os', 'lo","exact":true}'] }
}

t.test('instructor, in all its modes', async (t) => {
  const { add } = supportAgent(obedient as never)
  const { baseURL } = await openAiApp(t, { add })
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
})

t.test('LangChain: invoke, stream and structured output', async (t) => {
  const { add } = supportAgent(obedient as never)
  const { baseURL } = await openAiApp(t, { add })
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
})
