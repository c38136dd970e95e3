import t from 'tap'
import { createWaiting } from '../helpers/agents.ts'
import { buildApp, echo, eventsOf } from '../helpers/build-app.ts'

const message = { role: 'user', parts: [{ kind: 'text', text: 'Hello' }], metadata: { agentName: 'echo' } }

function post(url: string, id: number, method: string, params: object) {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id, method, params })
  })
}

t.test('the requests of the original specification', async (t) => {
  const waiting = createWaiting()
  const { url, origin } = await buildApp(t, { runnables: [echo, waiting.runnable] })

  const card = await (await fetch(`${origin}/.well-known/agent.json`)).json()
  t.match(card, {
    description: '2 agents: echo, waiting.',
    url,
    version: '1.0.0',
    capabilities: { streaming: true, pushNotifications: false, stateTransitionHistory: true },
    skills: [
      { id: 'echo', name: 'echo', description: 'Says it again' },
      { id: 'waiting', name: 'waiting' }
    ]
  })

  const sent = (await (await post(url, 1, 'message/send', { message })).json()) as {
    id: number
    result: { id: string }
  }
  t.match(sent, {
    jsonrpc: '2.0',
    id: 1,
    result: {
      kind: 'task',
      status: { state: 'completed' },
      history: [message, { role: 'agent', parts: [{ kind: 'text', text: 'Hello' }] }],
      artifacts: [{ parts: [{ kind: 'text', text: 'Hello' }] }],
      metadata: { agentName: 'echo' }
    }
  })
  t.same(await (await post(url, 2, 'tasks/get', { id: sent.result.id })).json(), { ...sent, id: 2 })

  const streamed = await post(url, 3, 'message/stream', { message })
  t.match(streamed.headers.get('content-type'), /^text\/event-stream/)
  const events = eventsOf(await streamed.text())
  t.ok(events.every(({ id }) => id === 3))
  t.match(
    events.map(({ result }) => result.kind),
    ['task', 'status-update', 'artifact-update', 'artifact-update', 'status-update']
  )

  const asked = { message: { ...message, metadata: { agentName: 'waiting' } } }
  const begun = await post(url, 4, 'message/send', { ...asked, configuration: { blocking: false } })
  const { result } = (await begun.json()) as { result: { id: string } }
  t.match(await (await post(url, 5, 'tasks/cancel', { id: result.id })).json(), {
    id: 5,
    result: { status: { state: 'canceled' } }
  })
})
