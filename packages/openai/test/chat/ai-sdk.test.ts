import { createOpenAI } from '@ai-sdk/openai'
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai'
import { scriptedRunnable } from '@svc/testing'
import { callsOf } from '@tools/wires/agents'
import t from 'tap'
import { supportAgent } from '../helpers/agents.ts'
import { openAiApp } from '../helpers/openai-app.ts'

const locate = tool({
  description: 'Where the user is',
  inputSchema: jsonSchema<{ exact: boolean }>({ type: 'object', properties: { exact: { type: 'boolean' } } }),
  execute: ({ exact }) => ({ city: 'Oslo', exact })
})

t.test('the AI SDK: text, tools of its own, several turns', async (t) => {
  const script = [
    { text: 'Let me see', ...callsOf(['locate', { exact: true }]) },
    { text: ['You are ', 'in Oslo'] }
  ]
  const { add } = supportAgent((_, index) => script[index % 2]!)
  const app = await openAiApp(t, { add })
  const model = createOpenAI({ baseURL: app.baseURL, apiKey: 'none' }).chat('support')
  const asked = { model, prompt: 'Where am I?', tools: { locate }, stopWhen: stepCountIs(3) }
  const { text, steps, finishReason, totalUsage } = await generateText(asked)
  t.match({ text, finishReason }, { text: 'You are in Oslo', finishReason: 'stop' })
  t.match(steps[0]!.toolResults, [{ output: { city: 'Oslo', exact: true } }])
  t.equal(totalUsage.totalTokens, 23)

  const streamed = streamText(asked)
  const deltas = await Array.fromAsync(streamed.textStream)
  t.strictSame(deltas, ['Let me see', 'You are ', 'in Oslo'])
  t.equal(await streamed.finishReason, 'stop')
  const { runs } = await app.runs.list({ limit: 10 })
  t.equal(runs.length, 2, 'each is one run')
})

t.test('the AI SDK: sources, and a run that fails', async (t) => {
  const app = await openAiApp(t, {
    runnables: [
      scriptedRunnable(
        [
          { type: 'text', text: 'See' },
          { type: 'citation', url: 'https://example.com/a', title: 'A' }
        ],
        { name: 'citing' }
      ),
      scriptedRunnable(
        [
          { type: 'text', text: 'So far' },
          () => {
            throw new Error('a secret of the service')
          }
        ],
        { name: 'broken' }
      )
    ]
  })
  const { chat } = createOpenAI({ baseURL: app.baseURL, apiKey: 'none' })
  const { sources } = streamText({ model: chat('citing'), prompt: 'Hi' })
  t.match(await sources, [{ sourceType: 'url', url: 'https://example.com/a', title: 'A' }])
  const errors: unknown[] = []
  const broken = streamText({
    model: chat('broken'),
    prompt: 'Hi',
    onError: ({ error }) => void errors.push(error)
  })
  for await (const _ of broken.textStream);
  t.match(JSON.stringify(errors), 'RUN_ERR_FAILED')
})
