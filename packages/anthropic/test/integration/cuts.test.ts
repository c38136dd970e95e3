import { join } from 'node:path'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import { callsOf, send } from '@tools/wires/agents'
import { findTypeFaults } from '@tools/wires/sdk-types'
import t from 'tap'
import { readAll, sessionsApp, untilIdle } from '../helpers/sessions-app.ts'

const BETA = { 'anthropic-beta': 'managed-agents-2026-04-01' }
const PREVIEWS = 'event_deltas[]=agent.message&event_deltas[]=agent.thinking'
const say = (text: string) => ({ type: 'user.message' as const, content: [{ type: 'text' as const, text }] })

interface Message {
  readonly id: string
  readonly data: string
}

/** Reads messages of a stream until one is the last; then the client leaves. */
async function read(
  url: string,
  isLast: (message: Message, count: number) => boolean,
  after?: string
): Promise<Message[]> {
  const cut = new AbortController()
  const headers = { ...BETA, ...(after !== undefined && { 'last-event-id': after }) }
  const reply = await fetch(url, { headers, signal: cut.signal })
  const messages: Message[] = []
  let text = ''
  try {
    for await (const chunk of reply.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const [, id, data] = /^id: (.*)\nevent: .*\ndata: (.*)$/.exec(text.slice(0, end)) ?? []
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

/** A session of three turns, one of which waited for a confirmation. */
async function begin(t: { teardown(fn: () => unknown): unknown }) {
  const served = await sessionsApp(t, {
    add: (registry) =>
      new Agent({
        name: 'mailer',
        model: scriptedModel([
          { reasoning: 'Hm', text: ['It ', 'is ', 'fine'] },
          { text: 'Two mails', ...callsOf(['send', { to: 'ann' }], ['send', { to: 'bob' }]) },
          'Done',
          { text: ['And ', 'so ', 'on'] },
          ...Array.from({ length: 10 }, () => 'More')
        ]),
        registry,
        tools: [send]
      })
  })
  const { sessions } = served.client.beta
  const { id } = await sessions.create({
    agent: 'mailer',
    environment_id: 'env_service',
    initial_events: [say('One'), say('Two'), say('Three')]
  })
  const idle = (await untilIdle(served.client, id, 2)).findLast(({ type }) => type === 'session.status_idle')
  if (idle?.type !== 'session.status_idle' || idle.stop_reason.type !== 'requires_action')
    throw new Error('the second turn does not wait')
  await sessions.events.send(id, {
    events: idle.stop_reason.event_ids.map((tool_use_id) => ({
      type: 'user.tool_confirmation' as const,
      tool_use_id,
      result: 'allow' as const
    }))
  })
  await untilIdle(served.client, id, 3, true)
  return { ...served, id, url: `${served.origin}/managed/v1/sessions/${id}/events/stream` }
}

t.test('a stream that is cut after any event continues after it, with nothing lost or twice', async (t) => {
  const { client, id: sessionId, url } = await begin(t)
  const listed = await readAll(client.beta.sessions.events.list(sessionId))
  const last = listed.at(-1)!.id
  const isLast = ({ data }: Message) => data.includes(`"id":"${last}"`)
  const all = await read(`${url}?after=0.0&${PREVIEWS}`, isLast)
  t.equal(new Set(all.map(({ id }) => id)).size, all.length)
  const kept = all.map(({ data }) => JSON.parse(data) as { id?: string; type: string })
  t.same(
    kept.filter(({ id }) => id !== undefined),
    listed,
    'the list has what was streamed, in this order'
  )
  t.ok(kept.some(({ type }) => type === 'event_delta'))
  for (const [at, { id }] of all.slice(0, -1).entries()) {
    const isEnd = (_: Message, count: number) => count === Math.min(7, all.length - at - 1)
    const rest = await read(`${url}?${PREVIEWS}`, isEnd, id)
    const wanted = all.slice(at + 1, at + 8)
    if (JSON.stringify(rest) !== JSON.stringify(wanted)) t.same(rest, wanted, id)
  }
  const plain = await read(`${url}?after=0.0`, isLast)
  t.same(
    plain,
    all.filter(({ data }) => data.includes('"id"') && !data.startsWith('{"type":"event_')),
    'without previews the others have the same ids'
  )
  const chained: Message[] = []
  for (let after = '0.0', size = 1; chained.length < all.length; size = (size % 9) + 1) {
    const left = all.length - chained.length
    const isEnd = (_: Message, count: number) => count === Math.min(size, left)
    chained.push(...(await read(`${url}?after=${after}&${PREVIEWS}`, isEnd)))
    after = chained.at(-1)!.id
  }
  t.same(chained, all)
})

t.test('a session is idle never before its message, wherever a client begins to read', async (t) => {
  const { client, id } = await begin(t)
  const { sessions } = client.beta
  for (let turn = 0; turn < 10; turn++) {
    const watched = await Promise.all([
      sessions.events.send(id, { events: [say(`Turn ${turn}`)] }).then(() => undefined),
      untilIdle(client, id, 4 + turn, true)
    ])
    const events = watched[1]
    const at = events.findLastIndex(({ type }) => type === 'session.status_idle')
    const message = events.findLastIndex(({ type }) => type === 'agent.message')
    const asked = events.findLastIndex(({ type }) => type === 'user.message')
    t.ok(asked < message && message < at, `turn ${turn}`)
    const ids = new Set(events.map((event) => event.id))
    t.same(
      (await readAll(sessions.events.list(id))).filter((event) => !ids.has(event.id)),
      [],
      'and the list has no more'
    )
  }
})

t.test('positions that a session does not have are refused', async (t) => {
  const { url } = await begin(t)
  for (const [after, status] of [
    ['x', 400],
    ['1.2.3.4', 400],
    ['99.1', 410]
  ] as const)
    t.equal((await fetch(`${url}?after=${after}`, { headers: BETA })).status, status, after)
})

t.test('sessions, agents and environments fit the types of the SDK', async (t) => {
  const { client, id } = await begin(t)
  const { beta } = client
  const values = {
    BetaManagedAgentsSession: [await beta.sessions.retrieve(id), ...(await readAll(beta.sessions.list()))],
    BetaManagedAgentsSessionThread: await readAll(beta.sessions.threads.list(id)),
    BetaManagedAgentsAgent: await readAll(beta.agents.list()),
    BetaEnvironment: await readAll(beta.environments.list())
  }
  const from = (type: string, path: string) =>
    `import type { ${type} } from '@anthropic-ai/sdk/resources/beta/${path}'`
  const imports = [
    from('BetaManagedAgentsSession', 'sessions/sessions'),
    from('BetaManagedAgentsSessionThread', 'sessions/threads/threads'),
    from('BetaManagedAgentsAgent', 'agents/agents'),
    from('BetaEnvironment', 'environments/environments')
  ]
  const plain = JSON.parse(JSON.stringify(values)) as typeof values
  t.equal(await findTypeFaults(plain, imports, join(t.testdir(), 'objects.ts')), '')
})
