import { createOpenAI } from '@ai-sdk/openai'
import { scriptedRunnable } from '@svc/testing'
import { callsOf } from '@tools/wires/agents'
import {
  generateText,
  jsonSchema,
  stepCountIs,
  streamText,
  tool,
  type ModelMessage,
  type ToolApprovalResponse
} from 'ai'
import t from 'tap'
import { supportAgent } from '../helpers/agents.ts'
import { openAiApp } from '../helpers/openai-app.ts'

const locate = tool({
  description: 'Where the user is',
  inputSchema: jsonSchema<{ exact: boolean }>({ type: 'object', properties: { exact: { type: 'boolean' } } }),
  execute: ({ exact }) => ({ city: 'Oslo', exact })
})
const script = [
  { ...callsOf(['weather', { city: 'Oslo' }]), text: 'Let me see', reasoning: 'Hm' },
  callsOf(['locate', { exact: true }]),
  'It is clear',
  'Still clear'
]

const asked = { tools: { locate }, stopWhen: stepCountIs(4) }

for (const kind of ['generateText', 'streamText'] as const)
  t.test(
    `${kind}: tools of the agent and of the client, and a second turn with item references`,
    async (t) => {
      const { add, model: scripted } = supportAgent(script, { toolCallDeltas: true })
      const { baseURL, runs } = await openAiApp(t, { add })
      const bodies: string[] = []
      const { responses } = createOpenAI({
        baseURL,
        apiKey: 'none',
        fetch: (url, init) => {
          bodies.push(init?.body as string)
          return fetch(url, init)
        }
      })
      const model = responses('support')
      const ask = async (messages: ModelMessage[]) => {
        if (kind === 'generateText') return generateText({ model, messages, ...asked })
        const { text, steps, finishReason, responseMessages } = streamText({ model, messages, ...asked })
        return {
          text: await text,
          steps: await steps,
          finishReason: await finishReason,
          responseMessages: await responseMessages
        }
      }
      const messages: ModelMessage[] = [{ role: 'user', content: 'Weather?' }]
      const first = await ask(messages)
      t.match(first, { text: 'It is clear', finishReason: 'stop' })
      t.match(
        first.steps.map(({ toolCalls }) => toolCalls),
        [
          [
            { toolName: 'mcp.weather', providerExecuted: true },
            { toolName: 'locate', input: { exact: true } }
          ],
          []
        ]
      )
      t.match(first.steps[0]!.toolResults, [
        {
          toolName: 'mcp.weather',
          output: { output: '{"city":"Oslo","sky":"clear"}', serverLabel: 'support' }
        },
        { toolName: 'locate', output: { city: 'Oslo' } }
      ])

      messages.push(...first.responseMessages, { role: 'user', content: 'And now?' })
      const second = await ask(messages)
      t.equal(second.text, 'Still clear')
      t.match(bodies.at(-1), /"item_reference"/)
      const { prompt } = scripted.calls[3]!
      t.match(
        prompt.map(({ role }) => role),
        ['user', 'assistant', 'tool', 'assistant', 'tool', 'assistant', 'user']
      )
      t.match(JSON.stringify(prompt), /Weather\?.*Let me see.*sky.*It is clear.*And now\?/)
      t.equal((await runs.list({ limit: 9 })).runs.length, 2, 'a turn is a run')
    }
  )

for (const kind of ['generateText', 'streamText'] as const)
  t.test(`${kind}: approvals`, async (t) => {
    const { add } = supportAgent([callsOf(['send', { to: 'ann' }]), 'Done'])
    const { baseURL } = await openAiApp(t, { add })
    const model = createOpenAI({ baseURL, apiKey: 'none' })('support')
    const ask = async (messages: ModelMessage[]) => {
      if (kind === 'generateText') return generateText({ model, messages })
      const { text, content, responseMessages } = streamText({ model, messages })
      return { text: await text, content: await content, responseMessages: await responseMessages }
    }
    const messages: ModelMessage[] = [{ role: 'user', content: 'Mail ann' }]
    const first = await ask(messages)
    t.match(
      first.content.map(({ type }) => type),
      ['tool-call', 'tool-approval-request'],
      'nothing is called before it is approved'
    )
    const responses = first.content.flatMap((part): ToolApprovalResponse[] =>
      part.type === 'tool-approval-request'
        ? [
            {
              type: 'tool-approval-response',
              approvalId: part.approvalId,
              approved: true,
              providerExecuted: true
            }
          ]
        : []
    )
    messages.push(...first.responseMessages, { role: 'tool', content: responses })
    const second = await ask(messages)
    t.equal(second.text, 'Done')
    t.match(
      second.content.find(({ type }) => type === 'tool-result'),
      { toolName: 'mcp.send', output: { output: 'sent to ann' } }
    )
  })

t.test('a failed run has its message, and items of others are not found', async (t) => {
  const fails = scriptedRunnable(
    [
      () => {
        throw new Error('a secret of the service')
      }
    ],
    { name: 'fails' }
  )
  const { baseURL } = await openAiApp(t, { runnables: [fails] })
  const provider = createOpenAI({ baseURL, apiKey: 'none' })
  const model = provider('fails')
  const failure = { message: 'The run failed' }
  await t.rejects(generateText({ model, prompt: 'Hi', maxRetries: 0 }), failure)
  const errors: unknown[] = []
  const stream = streamText({
    model,
    prompt: 'Hi',
    maxRetries: 0,
    onError: ({ error }) => void errors.push(error)
  })
  await stream.consumeStream()
  t.match(errors, [failure])
  const known: ModelMessage = {
    role: 'assistant',
    content: [{ type: 'text', text: 'x', providerOptions: { openai: { itemId: 'msg_unknown_1' } } }]
  }
  await t.rejects(
    generateText({ model, messages: [known, { role: 'user', content: 'Hi' }], maxRetries: 0 }),
    { statusCode: 404, message: /msg_unknown_1/ }
  )
})
