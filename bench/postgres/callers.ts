import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { Agent, request, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'

/** What callers do. */
export interface Calls {
  readonly runs: number
  readonly callers: number
  /** Runs of a session, one after the other. */
  readonly turns: number
  /** True to be answered as soon as a run is accepted. */
  readonly background?: boolean
}

/** Runs an agent over HTTP on several nodes; each caller has a session of its own at a time. Counts what is refused, by status and code. */
export async function call(nodes: readonly string[], calls: Calls): Promise<Record<string, number>> {
  const agent = new Agent({ keepAlive: true, maxSockets: calls.callers })
  const refused: Record<string, number> = {}
  let left = calls.runs
  const caller = async (index: number) => {
    let sessionId = ''
    for (let turn = 0; left-- > 0; turn++) {
      if (turn % calls.turns === 0) sessionId = randomUUID()
      const url = `${nodes[(index + turn) % nodes.length]}/api/agents/quick/run`
      const prefer = calls.background ? { prefer: 'respond-async' } : {}
      const headers = { 'content-type': 'application/json', 'idempotency-key': randomUUID(), ...prefer }
      const { status, code } = await send(agent, url, headers, { input: `Question ${turn}`, sessionId })
      if (status !== (calls.background ? 202 : 200))
        refused[`${status} ${code}`] = (refused[`${status} ${code}`] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: calls.callers }, (_, index) => caller(index)))
  agent.destroy()
  return refused
}

async function send(agent: Agent, url: string, headers: Record<string, string>, body: object) {
  const sent = request(url, { method: 'POST', agent, headers })
  sent.end(JSON.stringify(body))
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const { code } = JSON.parse(await text(response)) as { code?: string }
  return { status: response.statusCode, code }
}
