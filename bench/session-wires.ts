import { median, printBeside } from './figures.ts'
import { CHUNKS } from './quick.ts'
import { startServer, type ServerProcess } from './server-process.ts'

const SESSIONS = 50
// Messages to each session in a round.
const RUNS = 20
const TARGET = 1.3
const INPUT = 'What does the fox do?'

const TEXT_MESSAGE = { type: 'message', role: 'user', content: [{ type: 'input_text', text: INPUT }] }

/** A request of a client. */
interface Sent {
  readonly path: string
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
}

/** How a wire holds sessions. */
interface SessionWire {
  readonly title: string
  /** Of the server. */
  readonly variant: string
  readonly headers?: Readonly<Record<string, string>>
  /** Begins a session; the wire answers with its id. */
  readonly begin: Sent
  /** Follows a session. */
  stream(id: string): string
  /** Sends a message. */
  send(id: string): Sent
  /** What the last message of a run has, and no other one. */
  readonly end: string
}

/** Our own wire, which the others are measured beside, and those of vendors. */
const WIRES: readonly [SessionWire, ...SessionWire[]] = [
  {
    title: 'our own',
    variant: 'own-sessions',
    begin: { path: '/api/agents/quick/run', body: { input: INPUT } },
    stream: (id) => `/api/sessions/agent/quick/${id}/stream`,
    send: (sessionId) => ({
      path: '/api/agents/quick/run',
      body: { input: INPUT, sessionId },
      headers: { prefer: 'respond-async' }
    }),
    end: '"type":"finish"'
  },
  {
    title: 'Agents API',
    variant: 'agents-sessions',
    headers: { 'openai-beta': 'agents=v1' },
    begin: { path: '/v1/agents/sessions', body: { agent_id: 'quick', environment: { type: 'none' } } },
    stream: (id) => `/v1/agents/sessions/${id}/events`,
    send: (id) => ({
      path: `/v1/agents/sessions/${id}/events`,
      body: { events: [{ type: 'agent.session.input.message', input: [TEXT_MESSAGE] }] }
    }),
    end: '"type":"agent.session.idle"'
  },
  {
    title: 'Managed Agents',
    variant: 'managed-sessions',
    headers: { 'anthropic-beta': 'managed-agents-2026-04-01' },
    begin: { path: '/v1/sessions', body: { agent: 'quick', environment_id: 'env_service' } },
    stream: (id) => `/v1/sessions/${id}/events/stream?event_deltas=agent.message`,
    send: (id) => ({
      path: `/v1/sessions/${id}/events`,
      body: { events: [{ type: 'user.message', content: [{ type: 'text', text: INPUT }] }] }
    }),
    end: '"type":"session.status_idle"'
  }
]

/** Shows what a message to a session and its answer cost, over wires whose clients send on one connection and follow on another. */
export async function report(rounds: number): Promise<void> {
  console.log(
    `\na message to a session and ${CHUNKS.length} deltas on its stream: CPU in µs, ${SESSIONS} sessions, median of ${rounds}\n`
  )
  const servers: ServerProcess[] = []
  try {
    for (const { variant } of WIRES) servers.push(await startServer(variant))
    const costs = WIRES.map((): number[] => [])
    for (const [at, wire] of WIRES.entries()) await costOf(servers[at]!, wire)
    for (let round = 0; round < rounds; round++)
      for (const [at, wire] of WIRES.entries()) costs[at]!.push(await costOf(servers[at]!, wire))
    const [own, ...others] = costs
    for (const [at, all] of others.entries()) {
      // Of each round, since the speed of the machine changes between them.
      const times = median(all.map((cost, round) => cost / own![round]!))
      printBeside(WIRES[at + 1]!.title, median(own!), median(own!) * times, { times: TARGET })
    }
  } finally {
    for (const server of servers) await server.stop()
  }
}

async function costOf(server: ServerProcess, wire: SessionWire): Promise<number> {
  const sessions = await Promise.all(Array.from({ length: SESSIONS }, () => openSession(server.url, wire)))
  const before = server.cpu()
  await Promise.all(sessions.map((session) => session.converse()))
  const cost = (server.cpu() - before) / (SESSIONS * RUNS)
  for (const session of sessions) session.close()
  return cost
}

async function openSession(url: string, { headers, begin, stream, send, end }: SessionWire) {
  const begun = (await (await post(url, begin, headers)).json()) as { id?: string; sessionId?: string }
  const id = (begun.id ?? begun.sessionId)!
  const leaving = new AbortController()
  const followed = await fetch(url + stream(id), { ...(headers && { headers }), signal: leaving.signal })
  if (!followed.ok) throw new Error(await followed.text())
  const reader = followed.body!.pipeThrough(new TextDecoderStream()).getReader()

  async function readAnswer(): Promise<void> {
    let text = ''
    while (!(text.includes(end) && text.endsWith('\n\n'))) {
      const { value, done } = await reader.read()
      if (done) throw new Error(`a session said: ${text}`)
      text += value
    }
    if (!CHUNKS.every((chunk) => text.includes(chunk))) throw new Error(`a session said: ${text}`)
  }

  return {
    async converse(): Promise<void> {
      for (let run = 0; run < RUNS; run++)
        await Promise.all([readAnswer(), post(url, send(id), headers).then((answer) => answer.text())])
    },
    close: () => leaving.abort()
  }
}

async function post(url: string, { path, body, headers }: Sent, more: SessionWire['headers'] = {}) {
  const answer = await fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers, ...more },
    body: JSON.stringify(body)
  })
  if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`)
  return answer
}
