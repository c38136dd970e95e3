import { Agent, request, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { io, type Socket } from 'socket.io-client'

/** The ends of runs as clients see them. */
export const ENDS = ['completed', 'failed', 'canceled', 'suspended'] as const
type RunEnd = (typeof ENDS)[number]

/** What all clients share, and what came of what they asked for. */
export class Ledger {
  readonly origin: string
  /** Runs that clients know of, by the name of what is run; those to cancel or to approve are taken out. */
  readonly runs: Readonly<Record<string, string[]>> = { talker: [], endless: [], asker: [], flow: [] }
  readonly reported = new Map<string, Set<RunEnd>>()
  readonly accepted = new Set<string>()
  /** What was served after new work had been refused, as `HTTP watch`. */
  readonly served = new Map<string, number>()
  /** What was said of a run and cannot be right, whenever it was. */
  readonly untrue: string[] = []
  /** What should not have been, and when. */
  readonly faults: { at: number; what: string }[] = []
  refusals = 0
  /** Whether the service is gone. */
  isOver = false

  constructor(origin: string) {
    this.origin = origin
  }

  get isDraining(): boolean {
    return this.refusals > 0
  }

  /** A run was started by a request that was sent when new work had been refused, or before. */
  started(name: string, runId: string, isLate: boolean): void {
    if (isLate) this.fault(`${name} was started after new work had been refused`)
    this.accepted.add(runId)
    this.runs[name]!.push(runId)
  }

  /** One of the runs that are there for the drain. */
  take(name: 'endless' | 'asker'): string | undefined {
    return this.isDraining ? this.runs[name]!.pop() : undefined
  }

  record(runId: string, state: RunEnd): void {
    const states = this.reported.get(runId) ?? new Set()
    this.reported.set(runId, states.add(state))
  }

  fault(what: string): void {
    this.faults.push({ at: Date.now(), what })
  }

  serve(what: string): void {
    if (this.isDraining) this.served.set(what, (this.served.get(what) ?? 0) + 1)
  }
}

/** What HTTP answers. */
export interface Answer {
  status: number
  headers: IncomingMessage['headers']
  text: string
  // oxlint-disable-next-line typescript/no-explicit-any -- what is in it depends on what was asked for
  json: any
}

const keepAlive = new Agent({ keepAlive: true, maxSockets: 16 })

/** Asks over HTTP, on a connection that is kept or on a new one; `opened` is called when the answer begins. */
export async function ask(
  { origin }: Pick<Ledger, 'origin'>,
  method: string,
  path: string,
  body?: object,
  headers: Record<string, string> = {},
  opened: (response: IncomingMessage) => void = () => {}
): Promise<Answer> {
  const json = body && JSON.stringify(body)
  const sent = request(origin + path, {
    method,
    agent: Math.random() < 0.5 && keepAlive,
    headers: { ...(json && { 'content-type': 'application/json' }), ...headers }
  })
  sent.end(json)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  opened(response)
  const said = await text(response)
  return {
    status: response.statusCode!,
    headers: response.headers,
    text: said,
    json: said.startsWith('{') ? JSON.parse(said) : undefined
  }
}

/** Calls an operation of A2A. */
export function call(ledger: Ledger, method: string, params: object): Promise<Answer> {
  return ask(ledger, 'POST', '/a2a', { jsonrpc: '2.0', id: 1, method, params })
}

/** A socket that records the ends of runs. */
export async function openSocket(ledger: Ledger): Promise<Socket> {
  const socket = io(ledger.origin, { transports: ['websocket'], forceNew: true, reconnection: false })
  socket.on('agent.done', ({ runId, output }) =>
    ledger.record(runId, output.finishReason === 'canceled' ? 'canceled' : 'completed')
  )
  socket.on('agent.error', ({ runId }) => runId && ledger.record(runId, 'failed'))
  socket.on('run.suspended', ({ runId }) => ledger.record(runId, 'suspended'))
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('connect_error', reject)
    socket.io.once('close', (reason) => reject(new Error(reason)))
  })
  return socket
}

/** What a whole event stream of parts says of the end of its run. */
export function endOf(stream: string): RunEnd | undefined {
  if (/\n: suspended[^\n]*\n\n$/.test(stream) || stream.startsWith(': suspended')) return 'suspended'
  const last = /data: (\{[^\n]*\})\nid: \d+\n\n$/.exec(stream)?.[1]
  const part = JSON.parse(last ?? '{}') as { type?: string; finishReason?: string }
  if (part.type === 'error') return 'failed'
  if (part.type !== 'finish') return undefined
  return part.finishReason === 'canceled' ? 'canceled' : 'completed'
}
