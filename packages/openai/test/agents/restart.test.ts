import { KillableService } from '@tools/wires/killable-service'
import OpenAI from 'openai'
import type { AgentSessionEvent } from 'openai/resources/beta/agents/agents'
import t from 'tap'
import { locate } from '../helpers/agents.ts'
import { collect, until } from './helpers/agents-app.ts'

const SERVICE = new URL('../helpers/killable-service.ts', import.meta.url)
const environment = { type: 'none' } as const

t.setTimeout(120_000)

// One after the other at one address, since a process takes long to start.
const service = new KillableService(t, SERVICE)
await service.start()
const sessions = () =>
  new OpenAI({ baseURL: `${service.origin}/v1`, apiKey: 'none', maxRetries: 0 }).beta.agents.sessions

/** Reads a stream until it breaks, or the session is idle; returns the id of the last message. */
async function read(
  id: string,
  after: string,
  add: (event: AgentSessionEvent) => void
): Promise<string | undefined> {
  const url = `${service.origin}/v1/agents/sessions/${id}/events`
  const reply = await fetch(url, { headers: { 'openai-beta': 'agents=v1', 'last-event-id': after } })
  let last = after
  let text = ''
  try {
    for await (const chunk of reply.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const [, place, data] = /^id: (.*)\ndata: (.*)$/.exec(text.slice(0, end)) ?? []
        text = text.slice(end + 2)
        if (place === undefined) continue
        const event = JSON.parse(data!) as AgentSessionEvent
        add(event)
        last = place
        if (event.type === 'agent.session.idle') return undefined
      }
    }
  } catch {
    // The process is gone.
  }
  return last
}

t.test('kill -9 in the middle of an answer: the stream continues after its last event', async (t) => {
  const { id } = await sessions().create({ agent_id: 'support', environment, input: 'Count' })
  const seen: AgentSessionEvent[] = []
  let deltas = 0
  const last = await read(id, '0.0', (event) => {
    seen.push(event)
    if (event.type === 'agent.session.turn.output_text.delta' && ++deltas === 2) void service.kill()
  })
  await service.start()
  t.equal(await read(id, last!, (event) => seen.push(event)), undefined)
  const whole: AgentSessionEvent[] = []
  await read(id, '0.0', (event) => whole.push(event))
  t.same(seen, whole, 'nothing is lost, and nothing comes twice')
  const items = await collect(sessions().items.list(id, { order: 'asc' }))
  t.match(items, [
    { role: 'user' },
    { role: 'assistant', status: 'incomplete' },
    { role: 'assistant', status: 'completed', content: [{ text: 'one two three four' }] }
  ])
})

t.test('kill -9 while a function of the client is called: its output reaches the next process', async (t) => {
  const { type, name, description, parameters } = locate
  const agent = { tools: [{ type, name, description, parameters }] }
  const { id } = await sessions().create({ agent_id: 'support', agent, environment, input: 'Where am I?' })
  await until(
    () => sessions().retrieve(id),
    ({ status }) => status === 'requires_action'
  )
  await service.kill()
  await service.start()
  const { required_actions: actions } = await sessions().retrieve(id)
  const [call] = actions as unknown as [{ call_id: string; turn_id: string }]
  await sessions().events.create(id, {
    events: [
      {
        type: 'agent.session.input.tool_result',
        turn_id: call.turn_id,
        call_id: call.call_id,
        success: true,
        output: 'Oslo'
      }
    ]
  })
  await until(
    () => sessions().retrieve(id),
    ({ status }) => status === 'idle'
  )
  const [answer] = (await sessions().items.list(id)).data
  t.match(answer, { role: 'assistant', content: [{ text: 'You are there' }] })
})
