import Anthropic from '@anthropic-ai/sdk'
import agUi from '@svc/ag-ui'
import anthropic from '@svc/anthropic'
import openAi from '@svc/openai'
import openAiAgents from '@svc/openai/agents'
import registryPlugin, { createRegistry } from '@svc/registry'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import uiStream from '@svc/ui-stream'
import OpenAI from 'openai'
import t from 'tap'
import { serve } from './helpers/serve.ts'

type Test = Parameters<typeof serve>[0]
type Scripted = ReturnType<typeof scriptedModel>
type Call = Parameters<Scripted['doStream']>[0]

const TEXT = 'words '.repeat(100)
const SUMMARY = 'Known so far.'

/** An agent whose window two messages fill. @param told what its summaries wait for */
async function serveTalk(t: Test, told: () => Promise<void> = async () => {}) {
  const registry = createRegistry()
  const isSummary = ([first]: Call['prompt']) =>
    first?.role === 'system' && first.content.startsWith('You keep the summary')
  // How its provider counts is learned by its name, from all tests of the process.
  const scripted = scriptedModel(({ prompt }) => (isSummary(prompt) ? SUMMARY : 'Noted.'), {
    modelId: 'compacted'
  })
  const model: Scripted = {
    ...scripted,
    async doStream(options: Call) {
      if (isSummary(options.prompt)) await told()
      return scripted.doStream(options)
    }
  }
  const history = { window: 1_024, compact: { keep: 2, maxSummary: 256 } }
  registry.add(new Agent({ name: 'talk', register: false, model, history }))
  const served = await serve(t, async (app) => {
    await app.register(registryPlugin, { registry })
    await app.register(uiStream, { registry })
    await app.register(agUi, { registry })
    await app.register(openAi, { prefix: '/v1', registry })
    await app.register(openAiAgents, { prefix: '/v1', registry })
    await app.register(anthropic, { prefix: '/managed', registry })
  })
  const compacted = new Set<string>()
  served.app.events.on('context.compacted', ({ runId }) => compacted.add(runId))
  return { ...served, compacted }
}

/** Serves the agent, and streams its runs as server-sent events: a summary is written once their reader has been told of it. */
async function streaming(t: Test) {
  let telling = Promise.withResolvers<void>()
  const served = await serveTalk(t, () => telling.promise)
  const stream = async (path: string, body: object) => {
    telling = Promise.withResolvers<void>()
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(served.origin + path, {
      method: 'POST',
      headers,
      body: JSON.stringify(body)
    })
    let text = ''
    for await (const bytes of response.body!.pipeThrough(new TextDecoderStream())) {
      text += bytes
      if (text.includes('compaction')) telling.resolve()
    }
    return text.split('\n').flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6))] : []))
  }
  return { ...served, stream }
}

/** Says a few things; the last answers are those of compacted prompts. */
async function converse<T>(say: (text: string, turn: number) => Promise<T>): Promise<T[]> {
  const answers: T[] = []
  for (let turn = 1; turn <= 4; turn++) answers.push(await say(`FACT-${turn} ${TEXT}`, turn))
  return answers
}

t.test('UI stream: a transient data-compaction, and no summary among the messages', async (t) => {
  const { ask, compacted, stream } = await streaming(t)
  const streams = await converse(async (text, turn) => {
    const message = { id: `m${turn}`, role: 'user', parts: [{ type: 'text', text }] }
    const body = { id: 'chat', trigger: 'submit-message', messages: [message] }
    return stream('/chat/talk', body)
  })
  t.ok(compacted.size > 0)
  const told = streams.flat().filter(({ type }) => type === 'data-compaction')
  t.equal(told.length, compacted.size)
  t.match(told[0], { data: { before: Number }, transient: true })
  const { body } = await ask('GET', '/chat/talk/chat')
  t.same(
    body.messages.map(({ role }: { role: string }) => role),
    Array.from({ length: 8 }, (_, at) => (at % 2 === 0 ? 'user' : 'assistant'))
  )
  t.notMatch(JSON.stringify([streams, body]), SUMMARY)
})

t.test('AG-UI: CUSTOM compaction, and no summary in the thread', async (t) => {
  const { ask, compacted, stream } = await streaming(t)
  const messages: object[] = []
  const streams = await converse(async (content, turn) => {
    messages.push({ id: `m${turn}`, role: 'user', content })
    const body = {
      threadId: 'thread',
      runId: `run${turn}`,
      messages,
      tools: [],
      context: [],
      state: {},
      forwardedProps: {}
    }
    return stream('/ag-ui/talk', body)
  })
  t.ok(compacted.size > 0)
  const told = streams.flat().filter(({ type }) => type === 'CUSTOM')
  t.equal(told.length, compacted.size)
  t.match(told[0], { name: 'compaction', value: { before: Number } })
  const thread = await ask('GET', '/ag-ui/talk/threads/thread/connect')
  t.match(thread.body, 'FACT-4')
  t.notMatch(JSON.stringify(streams) + thread.body, SUMMARY)
})

t.test('Responses and Chat Completions say nothing of it', async (t) => {
  const { origin, compacted } = await serveTalk(t)
  const client = new OpenAI({ baseURL: `${origin}/v1`, apiKey: 'none', maxRetries: 0 })
  let previous: string | undefined
  const responses = await converse(async (input) => {
    const response = await client.responses.create({
      model: 'talk',
      input,
      ...(previous !== undefined && { previous_response_id: previous })
    })
    previous = response.id
    return response
  })
  t.ok(compacted.size > 0)
  for (const { output, output_text: text } of responses) {
    t.equal(text, 'Noted.')
    t.same(
      output.map(({ type }) => type),
      ['message']
    )
  }
  t.ok(responses.at(-1)!.usage!.input_tokens > responses[0]!.usage!.input_tokens, 'the summary is paid for')
  compacted.clear()
  const messages = Array.from({ length: 9 }, (_, at) =>
    at % 2 === 0
      ? ({ role: 'user', content: `FACT-${at} ${TEXT}` } as const)
      : ({ role: 'assistant', content: 'Noted.' } as const)
  )
  const completion = await client.chat.completions.create({ model: 'talk', messages })
  t.equal(compacted.size, 1)
  t.equal(completion.choices[0]?.message.content, 'Noted.')
})

t.test('session wires: turns without a summary, also after one that a client asked for', async (t) => {
  const { app, origin, compacted } = await serveTalk(t)
  const openai = new OpenAI({ baseURL: `${origin}/v1`, apiKey: 'none', maxRetries: 0 })
  const { sessions } = openai.beta.agents
  const { id } = await sessions.create({ agent_id: 'talk', environment: { type: 'none' } })
  const over = (runId: string) =>
    (async () => {
      for await (const _ of app.runs.parts(runId));
    })()
  const say = async (text: string) => {
    const before = (await app.runs.list({ limit: 1 })).runs[0]?.runId
    const message = {
      type: 'message' as const,
      role: 'user' as const,
      content: [{ type: 'input_text' as const, text }]
    }
    await sessions.events.create(id, { events: [{ type: 'agent.session.input.message', input: [message] }] })
    const { runId } = (await app.runs.list({ limit: 1 })).runs[0]!
    t.not(runId, before)
    await over(runId)
  }
  await converse(say)
  t.ok(compacted.size > 0)
  const key = { registry: 'global', owner: 'anonymous', kind: 'agent', name: 'talk', sessionId: id } as const
  await (await app.sessions.compact(key)).result()
  await say('And now?')
  const turns: { status: string }[] = []
  for await (const turn of sessions.turns.list(id)) turns.push(turn)
  t.ok(turns.length >= 5 && turns.every(({ status }) => status === 'completed'), JSON.stringify(turns))
  const items: object[] = []
  for await (const item of sessions.items.list(id)) items.push(item)
  t.equal(items.length, 10)
  t.notMatch(JSON.stringify(items), SUMMARY)

  const managed = new Anthropic({
    baseURL: `${origin}/managed`,
    apiKey: 'none',
    maxRetries: 0,
    logLevel: 'off'
  })
  const { events } = managed.beta.sessions
  const session = await managed.beta.sessions.create({ agent: 'talk', environment_id: 'env_service' })
  const tell = async (text: string) => {
    const { data } = await events.send(session.id, {
      events: [{ type: 'user.message', content: [{ type: 'text', text }] }]
    })
    await over(/^sevt_(.+)_1$/.exec(data![0]!.id)![1]!)
  }
  compacted.clear()
  await converse(tell)
  t.ok(compacted.size > 0)
  await (await app.sessions.compact({ ...key, sessionId: session.id })).result()
  await tell('And now?')
  const told: { type: string }[] = []
  for await (const event of events.list(session.id, { limit: 1000 })) told.push(event)
  t.equal(told.filter(({ type }) => type === 'user.message').length, 5)
  t.equal(told.filter(({ type }) => type === 'agent.message').length, 5)
  t.notMatch(JSON.stringify(told), SUMMARY)
  t.equal((await managed.beta.sessions.retrieve(session.id)).status, 'idle')
})
