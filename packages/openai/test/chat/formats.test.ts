import { Type } from '@sinclair/typebox'
import { zodResponseFormat } from 'openai/helpers/zod'
import { callsOf } from '@tools/wires/agents'
import t from 'tap'
import { z } from 'zod'
import { supportAgent } from '../helpers/agents.ts'
import { openAiApp } from '../helpers/openai-app.ts'
import { said, servedTool } from './helpers/completions.ts'

const City = z.object({ city: z.string() })
const body = {
  model: 'support',
  messages: said('Where?'),
  response_format: zodResponseFormat(City, 'city')
}
const OSLO = { city: 'Oslo' }

t.test('an agent with an output of its own: only its value is the answer', async (t) => {
  const { add } = supportAgent(
    (_, index) =>
      [
        { text: 'Let me look', ...callsOf(['weather', { city: 'Oslo' }]) },
        { text: '{"city": 7}' },
        { text: ['{"city"', ':"Oslo"}'] }
      ][index % 3]!,
    { output: Type.Object({ city: Type.String() }) }
  )
  const app = await openAiApp(t, { add })
  const parsed = await app.client().chat.completions.parse(body)
  t.strictSame(parsed.choices[0]!.message.parsed, OSLO, 'neither a preamble nor what it had to correct')
  const stream = app.client().chat.completions.stream(body)
  t.strictSame((await stream.finalChatCompletion()).choices[0]!.message.parsed, OSLO)
  const { response_format: _, ...plain } = body
  const { choices } = await app.client().chat.completions.create(plain)
  t.equal(choices[0]!.message.content, '{"city":"Oslo"}', 'even if the request names no format')
})

t.test('any other agent is instructed', async (t) => {
  const { add, model } = supportAgent((_, index) =>
    index === 0 ? '```json\n{"city":"Oslo"}\n```' : '{"city":"Rome"}'
  )
  const app = await openAiApp(t, { add })
  const parsed = await app.client().chat.completions.parse(body)
  t.strictSame(parsed.choices[0]!.message.parsed, OSLO, 'without its fence')
  t.match(JSON.stringify(model.calls[0]!.prompt[0]), /JSON Schema.*city/)
  const { choices } = await app
    .client()
    .chat.completions.create({ ...body, response_format: { type: 'json_object' } })
  t.strictSame(JSON.parse(choices[0]!.message.content!), { city: 'Rome' })
})

t.test('a value after a call of a tool of the client', async (t) => {
  const { add } = supportAgent(
    [{ text: 'Let me see', ...callsOf(['locate', {}]) }, { text: '{"city":"Oslo"}' }],
    {
      output: Type.Object({ city: Type.String() })
    }
  )
  const app = await openAiApp(t, { add })
  const runner = app.client().chat.completions.runTools({ ...body, tools: [servedTool(() => 'Oslo')] })
  t.strictSame(JSON.parse((await runner.finalContent())!), OSLO)
  t.match(
    runner.allChatCompletions().map(({ choices }) => choices[0]!.message.content),
    [null, /Oslo/]
  )
})

t.test('an answer that is cut or that is no JSON, as the SDK reports it', async (t) => {
  const { add } = supportAgent((_, index) =>
    index % 2 === 0 ? { text: '{"city', finishReason: 'length' } : { text: 'No city' }
  )
  const app = await openAiApp(t, { add })
  await t.rejects(app.client().chat.completions.parse(body), { message: /length limit/ })
  await t.rejects(app.client().chat.completions.parse(body), SyntaxError)
})

t.test('a format that nothing would follow is refused', async (t) => {
  const { add } = supportAgent('Hi')
  const app = await openAiApp(t, { add, options: { clientInstructions: false } })
  const ask = (response_format: object) =>
    app.client().chat.completions.create({ ...body, response_format } as typeof body)
  await t.rejects(ask(body.response_format), { status: 400, code: 'OPENAI_ERR_UNSUPPORTED' })
  await t.rejects(ask({ type: 'grammar' }), { status: 400, code: 'OPENAI_ERR_UNSUPPORTED' })
  t.ok(await ask({ type: 'text' }))
})
