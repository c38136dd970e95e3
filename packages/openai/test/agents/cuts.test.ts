import type { AgentSessionEvent, AgentSessionItem } from 'openai/resources/beta/agents/agents'
import t from 'tap'
import { supportAgent } from '../helpers/agents.ts'
import { agentsApp, collect, until } from './helpers/agents-app.ts'

const environment = { type: 'none' } as const
const BETA = { 'openai-beta': 'agents=v1' }

interface Message {
  readonly id: string
  readonly data: string
}

/** Reads messages of a stream until one is the last. */
async function read(url: string, isLast: (message: Message, count: number) => boolean): Promise<Message[]> {
  const cut = new AbortController()
  const reply = await fetch(url, { headers: BETA, signal: cut.signal })
  const messages: Message[] = []
  let text = ''
  try {
    for await (const chunk of reply.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const [, id, data] = /^id: (.*)\ndata: (.*)$/.exec(text.slice(0, end)) ?? []
        text = text.slice(end + 2)
        if (id === undefined || data === undefined) continue
        messages.push({ id, data })
        if (isLast(messages.at(-1)!, messages.length)) return messages
      }
    }
    return messages
  } finally {
    cut.abort()
  }
}

const isIdle = ({ data }: Message) => data.startsWith('{"type":"agent.session.idle"')

/** A session of three turns, one of which called a tool. */
async function begin(t: { teardown(fn: () => unknown): unknown }) {
  const call = { toolName: 'weather', args: { city: 'Oslo' } }
  const { add } = supportAgent([
    { reasoning: 'Hm', text: ['It ', 'is ', 'fine'] },
    { text: 'Let me see', toolCalls: [call, { ...call, toolCallId: 'c2' }] },
    'Clear',
    { text: ['And ', 'so ', 'on'] }
  ])
  const served = await agentsApp(t, { add })
  const { sessions } = served.client().beta.agents
  const { id } = await sessions.create({ agent_id: 'support', environment })
  for (const input of ['One', 'Two', 'Three']) await sessions.stream(id, { input }).finalResult()
  return { ...served, sessions, id, url: `${served.baseURL}/agents/sessions/${id}/events` }
}

t.test('a stream that is cut after any event continues after it, with nothing lost or twice', async (t) => {
  const { url } = await begin(t)
  let idles = 0
  const all = await read(`${url}?after=0.0`, (message) => isIdle(message) && ++idles === 3)
  t.ok(all.length > 40)
  t.equal(new Set(all.map(({ id }) => id)).size, all.length)
  for (const [at, { id }] of all.slice(0, -1).entries()) {
    const rest = await read(`${url}?after=${id}`, (_, count) => count === Math.min(7, all.length - at - 1))
    const wanted = all.slice(at + 1, at + 8)
    if (JSON.stringify(rest) !== JSON.stringify(wanted)) t.same(rest, wanted, id)
  }
  const chained: Message[] = []
  // Each request reads a few messages, and is cut.
  for (let after = '0.0', size = 1; chained.length < all.length; size = (size % 9) + 1) {
    const left = all.length - chained.length
    chained.push(...(await read(`${url}?after=${after}`, (_, count) => count === Math.min(size, left))))
    after = chained.at(-1)!.id
  }
  t.same(chained, all)
})

t.test('a client that opens the stream, reads the list, and drops what it has, has all once', async (t) => {
  const { add } = supportAgent(({ prompt }) => ({ text: [`${prompt.length}`, ' ', 'done'], delay: 1 }))
  const { client } = await agentsApp(t, { add })
  const { sessions } = client().beta.agents
  const { id } = await sessions.create({ agent_id: 'support', environment })
  for (let round = 0; round < 6; round++) {
    const input = [{ role: 'user', content: [{ type: 'input_text', text: `${round}` }] }]
    const events = [{ type: 'agent.session.input.message', input }] as never[]
    await sessions.events.create(id, { events })
    const stream = await sessions.events.stream(id)
    const listed = await collect(sessions.items.list(id, { order: 'asc', limit: 3 }))
    const found = new Map<string, AgentSessionItem>(listed.map((item) => [item.id!, item]))
    const twice: string[] = []
    const state = await sessions.retrieve(id)
    const isOver = (event: AgentSessionEvent) => event.type === 'agent.session.idle'
    if (state.status !== 'idle')
      for await (const event of stream) {
        if (event.type === 'agent.session.turn.item.added' || event.type === 'agent.session.turn.item.done') {
          const known = found.get(event.item.id!)
          if (event.type.endsWith('added') && known?.type === 'message' && known.role === 'user')
            twice.push(...(JSON.stringify(known) === JSON.stringify(event.item) ? [] : [event.item.id!]))
          found.set(event.item.id!, event.item)
        }
        if (isOver(event)) break
      }
    stream.controller.abort()
    await until(
      () => sessions.retrieve(id),
      ({ status }) => status === 'idle'
    )
    const whole = await collect(sessions.items.list(id, { order: 'asc' }))
    const settled = state.status === 'idle' ? whole : [...found.values()]
    t.same(
      settled.map((item) => item.id),
      whole.map((item) => item.id)
    )
    t.same(twice, [])
    t.equal(whole.length, (round + 1) * 2)
  }
})

t.test('the message of a turn is in the list before the session is idle', async (t) => {
  const { add } = supportAgent('Hello')
  const { client } = await agentsApp(t, { add })
  const { sessions } = client().beta.agents
  for (let round = 0; round < 10; round++) {
    const stream = await sessions.create({ agent_id: 'support', environment, input: 'Hi', stream: true })
    for await (const event of stream as AsyncIterable<AgentSessionEvent>) {
      if (event.type !== 'agent.session.idle') continue
      const { data } = await sessions.items.list(event.session.id)
      t.match(data[0], { role: 'assistant', status: 'completed', content: [{ text: 'Hello' }] })
      t.equal((await sessions.retrieve(event.session.id)).status, 'idle')
    }
  }
})
