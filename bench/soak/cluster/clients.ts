import { randomUUID } from 'node:crypto'
import { callA2a, emit } from '../agents/clients.ts'
import { Fatal } from '../agents/service.ts'
import type { Random } from '../random.ts'
import type { Reach } from './reach.ts'

/** The surfaces over which runs are started. */
export const SURFACES = ['http', 'http', 'socket', 'a2a'] as const
export type Surface = (typeof SURFACES)[number]

/** What is started, which continues without its client. */
export interface Start {
  readonly kind: 'agent' | 'workflow'
  readonly name: string
  readonly input: string
  readonly sessionId?: string
  readonly surface: Surface
}

/** An acknowledged run. */
export interface Acknowledged {
  readonly runId: string
  /** The node that acknowledged it. */
  readonly url: string
}

// Milliseconds after which a client gives up an attempt, and makes another.
const PATIENCE = 5_000
/** The same of some first attempts: then nobody hears what became of them. */
const IMPATIENCE = 40
const headers = { 'content-type': 'application/json' }

/** Starts a run. Over HTTP and sockets it is one run, however often and wherever the start is repeated. */
export function startRun(reach: Reach, start: Start, random: Random): Promise<Acknowledged> {
  const key = randomUUID()
  let patience = start.surface !== 'a2a' && random.chance(0.25) ? random.below(IMPATIENCE) : PATIENCE
  return reach.persist(async (url) => {
    const starting = SEND[start.surface](url, start, key, patience)
    patience = PATIENCE
    return { runId: await starting, url }
  })
}

/** Approves what a run asks for; a later answer changes nothing. */
export async function approve(reach: Reach, approvalId: string): Promise<void> {
  await reach.persist((url) => send(`${url}/api/approvals/${approvalId}`, { approved: true }, [200, 409]))
}

/** Sends JSON; gives the answer. A node may refuse what it cannot do now, and says when to try again: then it can be repeated. */
export async function send(
  url: string,
  body: object,
  statuses: readonly number[],
  more = {},
  patience = PATIENCE
): Promise<object> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { ...headers, ...more },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(patience)
  })
  const text = await response.text()
  if (statuses.includes(response.status)) return JSON.parse(text) as object
  if (response.status === 503 && response.headers.has('retry-after')) throw new Error(text)
  throw new Fatal(`${url}: ${response.status} ${text}`)
}

/** Sends a start over a surface; gives the id of its run. */
const SEND: Readonly<
  Record<Surface, (url: string, start: Start, key: string, patience: number) => Promise<string>>
> = {
  async http(url, { kind, name, input, sessionId }, key, patience) {
    const more = { prefer: 'respond-async', 'idempotency-key': key }
    const body = { input, ...(sessionId !== undefined && { sessionId }) }
    const run = await send(`${url}/api/${kind}s/${name}/run`, body, [202], more, patience)
    return (run as { runId: string }).runId
  },
  async socket(url, { kind, name, input, sessionId }, key, patience) {
    const event = {
      name,
      input,
      onDisconnect: 'continue',
      idempotencyKey: key,
      ...(sessionId !== undefined && { sessionId })
    }
    const ack = (await within(emit(url, `${kind}.run`, event), patience)) as { runId?: string }
    if (ack.runId === undefined) throw new Error(JSON.stringify(ack))
    return ack.runId
  },
  async a2a(url, { name, input }, key, patience) {
    const message = {
      role: 'user',
      messageId: key,
      metadata: { agentName: name },
      parts: [{ kind: 'text', text: input }]
    }
    const sending = callA2a(url, 'message/send', { message, configuration: { blocking: false } })
    const { result, error } = await within(sending, patience)
    if (result === undefined) throw new Error(JSON.stringify(error))
    return (result as { id: string }).id
  }
}

async function within<T>(work: Promise<T>, patience: number): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error('no answer')), patience)
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}
