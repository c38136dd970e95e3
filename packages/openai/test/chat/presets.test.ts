import { PNG } from '@tools/wires/agents'
import t from 'tap'
import { promptOf, supportAgent } from '../helpers/agents.ts'
import { openAiApp } from '../helpers/openai-app.ts'
import { locateTool, postCompletion } from './helpers/completions.ts'

const model = 'support'
const hi = { role: 'user', content: 'Hi' }
const text = (of: string, more: object = {}) => ({ type: 'text', text: of, ...more })
const png = `data:image/png;base64,${PNG}`
const call = {
  id: 'toolu_01',
  type: 'function',
  function: { name: 'locate', arguments: '{"exact":true}' }
}
const called = { role: 'assistant', content: [text('Let me see')], tool_calls: [call] }
const cached = { cache_control: { type: 'ephemeral' } }

/** What clients send as they are set up by default, and the texts of the prompt that the model gets. */
const REQUESTS: readonly [client: string, body: object, prompt: readonly (string | RegExp)[]][] = [
  [
    'LibreChat, with a preset that has a name',
    {
      temperature: 1,
      top_p: 1,
      presence_penalty: 0,
      frequency_penalty: 0,
      user: '66a1f0c2e4b0a1b2c3d4e5f6',
      stream_options: { include_usage: true },
      messages: [{ role: 'system', name: 'instructions', content: 'Be brief' }, hi]
    },
    [/Be brief/, 'Hi']
  ],
  [
    'LibreChat, with parameters of the agent builder and an image',
    {
      max_tokens: 100,
      max_completion_tokens: 100,
      stop: [],
      seed: 7,
      logit_bias: {},
      n: 1,
      tools: [],
      messages: [
        {
          role: 'user',
          content: [text('Look'), { type: 'image_url', image_url: { url: png, detail: 'auto' } }]
        },
        { role: 'assistant', name: 'Aria', content: [text('A dot')] },
        { role: 'user', name: 'ann', content: [text('And now?')] }
      ]
    },
    [/Look/, 'A dot', 'And now?']
  ],
  [
    'LibreChat, for a title',
    { temperature: 0.2, presence_penalty: 0, frequency_penalty: 0, max_tokens: 16, messages: [hi] },
    ['Hi']
  ],
  [
    'OpenHands, with native calls of tools',
    {
      temperature: 0,
      top_p: 1,
      max_completion_tokens: 4096,
      tools: [locateTool],
      tool_choice: 'auto',
      parallel_tool_calls: false,
      metadata: { session_id: 's' },
      messages: [
        { role: 'system', content: [text('You write code', cached)] },
        { role: 'user', content: [text('Where?')] },
        called,
        { role: 'tool', tool_call_id: 'toolu_01', name: 'locate', content: [text('Oslo', cached)] },
        { role: 'user', content: [text('And now?', cached)] }
      ]
    },
    [/You write code/, 'Where?', 'Let me see', '', 'And now?']
  ],
  [
    'OpenHands, with a screenshot as a result',
    {
      tools: [locateTool],
      messages: [
        hi,
        called,
        {
          role: 'tool',
          tool_call_id: 'toolu_01',
          name: 'locate',
          content: [text('Oslo'), { type: 'image_url', image_url: { url: png } }]
        }
      ]
    },
    ['Hi', 'Let me see', '']
  ],
  [
    'OpenHands, with calls of tools as text',
    {
      stop: ['</function'],
      seed: 7,
      top_k: 40,
      reasoning_effort: 'high',
      safety_settings: [],
      prompt_cache_retention: '24h',
      messages: [{ role: 'system', content: 'Use <function=x>' }, hi]
    },
    [/Use <function=x>/, 'Hi']
  ],
  [
    'instructions in the middle, and several messages of the user',
    {
      messages: [
        hi,
        { role: 'system', content: 'Be kind' },
        { role: 'developer', content: [text('Be brief')] },
        hi
      ]
    },
    [/Be kind\s+Be brief/, 'HiHi']
  ],
  [
    'no tools, but a choice',
    { tools: [], tool_choice: 'auto', parallel_tool_calls: true, messages: [hi] },
    ['Hi']
  ]
]

t.test('requests of LibreChat and OpenHands are taken', async (t) => {
  const { add, model: scripted } = supportAgent(() => 'Done')
  const app = await openAiApp(t, { add })
  for (const [client, body, expected] of REQUESTS)
    for (const stream of [false, true]) {
      scripted.calls.length = 0
      const response = await postCompletion(app, { model, stream, ...body })
      const answer = await response.text()
      t.equal(response.status, 200, `${client}: ${answer.slice(0, 300)}`)
      t.match(answer, /Done/, client)
      t.equal(answer.includes('"prompt_tokens"'), !stream || 'stream_options' in body, `${client}: usage`)
      t.match(promptOf(scripted.calls[0]!), expected, client)
      if (client.includes('screenshot'))
        t.match(
          JSON.stringify(scripted.calls[0]!.prompt),
          /Oslo.*\[image\/png\]/,
          'it is not lost in silence'
        )
      t.equal(scripted.calls[0]!.prompt.length, expected.length, client)
    }
})
