import { defineRunnable } from '@svc/registry'
import { scriptedRunnable } from '@svc/testing'
import { Agent, Team, Workflow } from '@svc/runtime'
import { scriptedModel, type ScriptedTurn } from '@svc/runtime/testing'
import { APIError } from 'openai'
import { authenticate } from '@tools/wires/agents'
import t from 'tap'
import { supportAgent } from '../helpers/agents.ts'
import { openAiApp } from '../helpers/openai-app.ts'
import { postCompletion, said } from './helpers/completions.ts'

const messages = said('Hi')
const looking: ScriptedTurn = {
  reasoning: ['I must ', 'look'],
  text: 'Let me look',
  toolCalls: [{ toolName: 'weather', args: { city: 'Oslo' } }]
}

t.test('an answer as JSON, as chunks, and as the SDK collects them', async (t) => {
  const { add } = supportAgent((_, index) => (index % 2 === 0 ? looking : { text: ['It is ', 'clear'] }))
  const client = (await openAiApp(t, { add })).client()
  const body = { model: 'support', messages } as const
  const { data: whole, response } = await client.chat.completions.create(body).withResponse()
  const content = 'Let me look\n\nIt is clear'
  t.match(whole, {
    object: 'chat.completion',
    model: 'support',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content,
          refusal: null,
          reasoning_content: 'I must look',
          annotations: []
        },
        finish_reason: 'stop',
        logprobs: null
      }
    ],
    usage: {
      prompt_tokens: 20,
      completion_tokens: 3,
      total_tokens: 23,
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0 }
    }
  })
  t.equal(whole.choices[0]!.message.tool_calls, undefined, 'tools of the agent are its own')
  t.equal(whole.id, `chatcmpl-${response.headers.get('x-run-id')!}`)
  t.ok(Math.abs(whole.created * 1_000 - Date.now()) < 60_000, 'in seconds')

  const chunks = []
  const stream = await client.chat.completions.create({
    ...body,
    stream: true,
    stream_options: { include_usage: true }
  })
  for await (const chunk of stream) chunks.push(chunk)
  t.strictSame(chunks[0]!.choices[0]!.delta, { role: 'assistant', content: '' })
  t.same(new Set(chunks.map(({ id }) => id)).size, 1)
  t.equal(chunks.map(({ choices: [choice] }) => choice?.delta.content ?? '').join(''), content)
  t.strictSame(
    chunks.slice(-2).map(({ choices, usage }) => [choices[0]?.finish_reason, usage]),
    [
      ['stop', null],
      [undefined, whole.usage]
    ]
  )
  t.ok(chunks.slice(0, -1).every(({ usage }) => usage === null))

  const heard: string[] = []
  const helper = client.chat.completions.stream(body).on('content', (delta) => heard.push(delta))
  t.equal((await helper.finalChatCompletion()).choices[0]!.message.content, content)
  t.strictSame(heard, ['Let me look', '\n\nIt is ', 'clear'])
})

t.test('the stream ends with its marker, and has no usage unless it is asked for', async (t) => {
  const app = await openAiApp(t, { runnables: [scriptedRunnable([{ type: 'text', text: 'Hello' }])] })
  const response = await postCompletion(app, {
    model: 'scripted',
    messages,
    stream: true,
    user: 'u',
    seed: 1,
    store: true
  })
  t.match(response.headers.get('content-type'), 'text/event-stream')
  const text = await response.text()
  t.match(text, /\n\ndata: \[DONE\]\n\n$/)
  t.notMatch(text, 'usage')
})

t.test('why an answer ended, and what else it has', async (t) => {
  const app = await openAiApp(t, {
    runnables: [
      scriptedRunnable(
        [
          { type: 'text', text: 'See' },
          { type: 'citation', url: 'https://example.com/a', title: 'A' },
          { type: 'citation', documentId: 'doc-1', title: 'B' },
          { type: 'text', text: ' this' },
          { type: 'file', url: 'https://example.com/b.png', mimeType: 'image/png' }
        ],
        { name: 'citing' }
      ),
      scriptedRunnable([{ type: 'finish', finishReason: 'max-steps' }], { name: 'max-steps' }),
      scriptedRunnable([{ type: 'finish', finishReason: 'length' }], { name: 'length' }),
      scriptedRunnable([{ type: 'finish', finishReason: 'content-filter' }], { name: 'filter' }),
      scriptedRunnable([{ type: 'structured', value: { ok: true } }], { name: 'silent' }),
      scriptedRunnable([{ type: 'text', text: 'x'.repeat(300_000) }], { name: 'long' })
    ]
  })
  const client = app.client()
  const ask = (model: string) => client.chat.completions.create({ model, messages })
  const annotations = [
    {
      type: 'url_citation',
      url_citation: { url: 'https://example.com/a', title: 'A', start_index: 3, end_index: 3 }
    },
    { url_citation: { url: 'https://example.com/b.png', title: 'image/png', start_index: 8, end_index: 8 } }
  ]
  t.match((await ask('citing')).choices[0]!.message, { content: 'See this', annotations })
  const streamed = await client.chat.completions.stream({ model: 'citing', messages }).finalMessage()
  t.match(streamed, { content: 'See this', annotations })
  for (const [model, reason] of [
    ['max-steps', 'length'],
    ['length', 'length'],
    ['filter', 'content_filter']
  ] as const)
    t.equal((await ask(model)).choices[0]!.finish_reason, reason)
  t.equal((await ask('silent')).choices[0]!.message.content, '{"ok":true}', 'a value is a text')
  t.equal((await ask('long')).choices[0]!.message.content!.length, 300_000)
  const long = await (await postCompletion(app, { model: 'long', messages, stream: true })).text()
  t.ok(long.includes('x'.repeat(300_000)))
})

t.test('a file of a run has a URL at the service, for its owner alone', async (t) => {
  const painter = defineRunnable({
    kind: 'agent',
    name: 'painter',
    async *stream(_, { runId, stores }) {
      const content = Buffer.from('a picture')
      const { fileId, mimeType, size, sha256 } = await stores.files!.put(runId, {
        mimeType: 'text/plain',
        content
      })
      yield { type: 'text', text: 'Painted' }
      yield { type: 'file', fileId, mimeType, size, sha256, filename: 'a.txt' }
    }
  })
  const app = await openAiApp(t, { runnables: [painter], engine: { authenticate } })
  const { choices } = await app.client('ann').chat.completions.create({ model: 'painter', messages })
  const { url, title } = choices[0]!.message.annotations![0]!.url_citation
  t.equal(title, 'a.txt')
  t.ok(url.startsWith(app.baseURL))
  const read = (token: string) => fetch(url, { headers: { authorization: `Bearer ${token}` } })
  t.equal(await (await read('ann')).text(), 'a picture')
  t.equal((await read('bob')).status, 404)
})

t.test('teams, workflows, and the long name of an agent', async (t) => {
  const app = await openAiApp(t, {
    add(registry) {
      const ada = new Agent({ name: 'ada', model: scriptedModel('Ada says'), registry })
      const bob = new Agent({ name: 'bob', model: scriptedModel('Bob says'), registry })
      new Team({ name: 'crew', mode: 'sequence', members: [ada, bob], registry })
      new Workflow({ name: 'flow', registry, steps: (flow) => flow.step('first', bob) })
    }
  })
  const client = app.client()
  const ask = async (model: string) => {
    const { model: shown, choices } = await client.chat.completions.create({ model, messages })
    const streamed = await client.chat.completions.stream({ model, messages }).finalContent()
    t.equal(streamed, choices[0]!.message.content)
    return [shown, streamed]
  }
  t.strictSame(await ask('team/crew'), ['team/crew', 'Bob says'])
  t.strictSame(await ask('agent/ada'), ['ada', 'Ada says'])
  const [model, text] = await ask('workflow/flow')
  t.equal(model, 'workflow/flow')
  t.match(text, 'Bob says')
})

t.test('a run that fails is an error, and no SDK repeats it', async (t) => {
  let runs = 0
  const broken = scriptedRunnable([
    () => void runs++,
    { type: 'text', text: 'So far' },
    () => {
      throw new Error('a secret of the service')
    }
  ])
  const { client: clientOf } = await openAiApp(t, { runnables: [broken] })
  const client = clientOf()
  const body = { model: 'scripted', messages } as const
  const failed = await clientOf('none', { maxRetries: 2 })
    .chat.completions.create(body)
    .catch((err: unknown) => err)
  t.ok(failed instanceof APIError)
  t.match(failed, { status: 500, code: 'RUN_ERR_FAILED', type: 'server_error' })
  t.notMatch(String(failed), 'secret')
  t.equal(runs, 1)
  const texts: string[] = []
  const stream = client.chat.completions.stream(body).on('content', (delta) => texts.push(delta))
  await t.rejects(stream.done(), { code: 'RUN_ERR_FAILED' })
  t.strictSame(texts, ['So far'])
})

t.test(
  'a step that is repeated: JSON has what counts, a stream that said more ends with an error',
  async (t) => {
    const usage = { promptTokens: 1, completionTokens: 1, totalTokens: 2 }
    const attempt = (text: string, number: number) =>
      [
        { type: 'step.start', index: 1, attempt: number },
        ...(text === '' ? [] : [{ type: 'text', text } as const])
      ] as const
    const name = (text: string) => (text === '' ? 'before' : 'amid')
    const runnableOf = (text: string) =>
      scriptedRunnable(
        [
          { type: 'step.start', index: 0, attempt: 1 },
          { type: 'text', text: 'First' },
          { type: 'step', index: 0, usage },
          ...attempt(text, 1),
          ...attempt('second', 2),
          { type: 'step', index: 1, usage }
        ],
        { name: name(text) }
      )
    const client = (await openAiApp(t, { runnables: ['', 'void'].map(runnableOf) })).client()
    const ask = async (model: string) =>
      (await client.chat.completions.create({ model, messages })).choices[0]!.message.content
    t.equal(await ask('before'), 'First\n\nsecond')
    t.equal(await ask('amid'), 'First\n\nsecond')
    const stream = (model: string) => client.chat.completions.stream({ model, messages })
    t.equal(await stream('before').finalContent(), 'First\n\nsecond', 'nothing void was said')
    await t.rejects(stream('amid').done(), { code: 'stream_restarted', type: 'server_error' })
  }
)

t.test('the same request with a key is one run', async (t) => {
  const { add, model } = supportAgent(['once'])
  const client = (await openAiApp(t, { add })).client()
  const ask = () =>
    client.chat.completions.create({ model: 'support', messages }, { headers: { 'idempotency-key': 'k' } })
  const [first, again] = [await ask(), await ask()]
  t.strictSame(again, first)
  t.equal(model.calls.length, 1)
})
