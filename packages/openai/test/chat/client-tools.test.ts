import { Agent, Team } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import type OpenAI from 'openai'
import type {
  ChatCompletionMessage,
  ChatCompletionMessageParam,
  ChatCompletionToolMessageParam
} from 'openai/resources/chat/completions'
import { authenticate, callsOf } from '@tools/wires/agents'
import t from 'tap'
import { promptOf, supportAgent } from '../helpers/agents.ts'
import { openAiApp, type OpenAiApp } from '../helpers/openai-app.ts'
import { locateTool, said, servedTool } from './helpers/completions.ts'

const tools = [locateTool]
const model = 'support'

/** What a client sends next: all of it, its answer included. */
function continued(
  before: ChatCompletionMessageParam[],
  answer: ChatCompletionMessage,
  ...contents: string[]
): ChatCompletionMessageParam[] {
  const outputs = answer.tool_calls!.map(({ id: tool_call_id }, at): ChatCompletionToolMessageParam => ({
    role: 'tool',
    tool_call_id,
    content: contents[at]!
  }))
  return [...before, answer, ...outputs]
}

async function create(client: OpenAI, messages: ChatCompletionMessageParam[]) {
  const { data, response } = await client.chat.completions.create({ model, messages, tools }).withResponse()
  const [{ message, finish_reason: reason }] = data.choices as [(typeof data.choices)[0]]
  return { message, reason, id: data.id, usage: data.usage!, runId: response.headers.get('x-run-id')! }
}

async function untilRequested({ runs }: Pick<OpenAiApp, 'runs'>, runId: string, type: string) {
  for await (const part of runs.parts(runId)) if (part.type === type) return part
  throw new Error('the run has ended')
}

t.test('a call of a tool of the client, and its output in the next request: one run', async (t) => {
  const { add, model: scripted } = supportAgent([
    { text: 'Let me see', ...callsOf(['locate', { exact: true }]) },
    'You are in Oslo'
  ])
  const app = await openAiApp(t, { add })
  const client = app.client()
  const messages = said('Where am I?')
  const first = await create(client, messages)
  t.match(first, {
    reason: 'tool_calls',
    message: {
      content: 'Let me see',
      tool_calls: [{ type: 'function', function: { name: 'locate', arguments: '{"exact":true}' } }]
    },
    usage: { total_tokens: 11 }
  })
  const [call] = first.message.tool_calls!
  t.match(call!.id, /^[A-Za-z0-9_]{1,40}$/, 'an id that every provider takes')
  t.equal((await app.runs.find(first.runId))!.status, 'input-required')

  const second = await create(client, continued(messages, first.message, '{"city":"Oslo"}'))
  t.match(second, { reason: 'stop', message: { content: 'You are in Oslo' }, usage: { total_tokens: 11 } })
  t.equal(second.runId, first.runId)
  t.match([first.id, second.id], [`chatcmpl-${first.runId}`, new RegExp(`^chatcmpl-${first.runId}_\\d+$`)])
  t.match(JSON.stringify(scripted.calls[1]!.prompt), /"city":"Oslo"/)

  t.comment('whoever sends it again asks anew')
  scripted.calls.length = 0
  const again = await client.chat.completions
    .create({ model, messages: continued(messages, first.message, 'Oslo'), tools })
    .catch((err: unknown) => err)
  t.match(again, { code: /RUN_ERR/ }, 'the script is over')
  t.match(promptOf(scripted.calls[0]!).length, 3)
})

t.test('several calls in one answer, streamed', async (t) => {
  const { add } = supportAgent([
    callsOf(['locate', {}], ['weather', { city: 'Rome' }], ['locate', { exact: true }]),
    'Here and there'
  ])
  const app = await openAiApp(t, { add })
  const client = app.client()
  const messages = said('Where are we?')
  const stream = client.chat.completions.stream({ model, messages, tools })
  const answer = await stream.finalMessage()
  t.notOk(answer.content)
  t.match(answer.tool_calls, [
    { function: { name: 'locate', arguments: '{}' } },
    { function: { name: 'locate', arguments: '{"exact":true}' } }
  ])
  const next = continued(messages, answer, 'here', 'there')
  const incomplete = client.chat.completions.create({ model, messages: next.slice(0, -1), tools })
  await t.rejects(incomplete, { status: 400, code: 'OPENAI_ERR_UNANSWERED' })
  const rest = client.chat.completions.stream({ model, messages: next, tools })
  t.equal(await rest.finalContent(), 'Here and there')
  t.equal((await rest.finalChatCompletion()).id.split('_')[0], (await stream.finalChatCompletion()).id)
})

t.test('runTools of the SDK serves the tools, streamed or not', async (t) => {
  const script = [
    callsOf(['locate', { exact: true }]),
    callsOf(['locate', { exact: false }]),
    'You moved'
  ] as const
  const { add } = supportAgent((_, index) => script[index % 3]!)
  const app = await openAiApp(t, { add })
  const served: boolean[] = []
  const tool = servedTool(({ exact }) => {
    served.push(exact)
    return { city: 'Oslo' }
  })
  const body = { model, messages: said('Where am I?'), tools: [tool] }
  t.equal(await app.client().chat.completions.runTools(body).finalContent(), 'You moved')
  t.equal(
    await app
      .client()
      .chat.completions.runTools({ ...body, stream: true })
      .finalContent(),
    'You moved'
  )
  t.strictSame(served, [true, false, true, false])
  const { runs } = await app.runs.list({ limit: 10 })
  t.equal(runs.length, 2, 'each is one run')
})

t.test('a member of a team calls a tool of the client', async (t) => {
  const app = await openAiApp(t, {
    add(registry) {
      const ada = new Agent({
        name: 'ada',
        model: scriptedModel([callsOf(['locate', {}]), 'Ada was in Oslo']),
        registry
      })
      const bob = new Agent({ name: 'bob', model: scriptedModel(['She was there']), registry })
      new Team({ name: 'crew', mode: 'sequence', members: [ada, bob], registry })
    }
  })
  const body = { model: 'team/crew', messages: said('Where is she?'), tools }
  const { choices, id } = await app.client().chat.completions.create(body)
  t.match(choices[0], {
    finish_reason: 'tool_calls',
    message: { tool_calls: [{ function: { name: 'locate' } }] }
  })
  const messages = continued(body.messages, choices[0]!.message, 'Oslo')
  const rest = await app.client().chat.completions.create({ ...body, messages })
  t.equal(rest.choices[0]!.message.content, 'She was there')
  t.ok(rest.id.startsWith(`${id}_`))
})

t.test('approvals and questions keep the answer open, and another wire answers them', async (t) => {
  const script = [
    callsOf(['send', { to: 'ann' }], ['locate', {}]),
    callsOf(['ask', { what: 'size' }]),
    'Done'
  ] as const
  const { add } = supportAgent((_, index) => script[index % 3]!)
  const app = await openAiApp(t, { add })
  for (const stream of [false, true]) {
    const messages = said('Mail')
    const first = await create(app.client(), messages)
    t.equal(first.message.tool_calls!.length, 1, 'only tools of the client')
    const next = { model, messages: continued(messages, first.message, 'Oslo'), tools }
    const answer = stream
      ? app.client().chat.completions.stream(next).finalContent()
      : app
          .client()
          .chat.completions.create(next)
          .then(({ choices }) => choices[0]!.message.content)
    const approval = await untilRequested(app, first.runId, 'tool.approval.request')
    await app.runs.answer((approval as { approvalId: string }).approvalId, { approved: true })
    const question = await untilQuestion(app, first.runId)
    await app.runs.answer(question, { action: 'accept', content: 'XL' })
    t.equal(await answer, 'Done')
  }
})

async function untilQuestion({ runs }: OpenAiApp, runId: string): Promise<string> {
  for await (const part of runs.parts(runId))
    if (part.type === 'input.request' && part.kind === 'question') return part.inputId
  throw new Error('the run has ended')
}

t.test('a call belongs to its owner: for anyone else it is a history', async (t) => {
  const { add } = supportAgent((_, index) => (index === 0 ? callsOf(['locate', {}]) : `answer ${index}`))
  const app = await openAiApp(t, { add, engine: { authenticate } })
  const messages = said('Where am I?')
  const first = await create(app.client('ann'), messages)
  const next = continued(messages, first.message, 'Oslo')
  const other = await create(app.client('bob'), next)
  t.match(other, { message: { content: 'answer 1' }, id: `chatcmpl-${other.runId}` })
  t.not(other.runId, first.runId)
  t.equal((await app.runs.find(first.runId))!.status, 'input-required')
  const own = await create(app.client('ann'), next)
  t.match(own, { message: { content: 'answer 2' }, runId: first.runId })
})

t.test('the id of the log serves too, as other wires give it', async (t) => {
  const { add } = supportAgent([callsOf(['locate', {}]), 'There'])
  const app = await openAiApp(t, { add })
  const response = await app.client().responses.create({
    model,
    input: 'Where am I?',
    tools: [{ type: 'function', name: 'locate', parameters: { type: 'object' }, strict: false }]
  })
  const answer = await create(app.client(), [
    ...said('Where am I?'),
    {
      role: 'assistant',
      tool_calls: [{ id: 'call-1', type: 'function', function: { name: 'locate', arguments: '{}' } }]
    },
    { role: 'tool', tool_call_id: 'call-1', content: 'Oslo' }
  ])
  t.match(answer, { message: { content: 'There' }, runId: response.id.slice('resp_'.length) })
})
