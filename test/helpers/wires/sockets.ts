import gateway from '@svc/gateway'
import type { Part } from '@svc/registry'
import { io, type Socket } from 'socket.io-client'
import { reportOfLog } from './report-of-log.ts'
import {
  PICK,
  type Asked,
  type Report,
  type StartedRun,
  type Wire,
  type WireAdapter,
  type WireRun
} from './wire.ts'

/** The payload of an event of a run: the fields of all of them. */
// oxlint-disable-next-line typescript/no-explicit-any -- each event has its own
type Payload = any

/** Socket.IO with its own client. */
export const sockets: WireAdapter = {
  package: '@svc/gateway',
  async register(app, registry) {
    const limits = { eventsPerSecond: 1_000 }
    await app.register(gateway, { registry, clientTools: true, exposeToolArgs: true, limits })
  },
  connect: async (origin) => [new SocketWire(origin)]
}

class SocketWire implements Wire {
  readonly name = 'sockets'
  readonly refusal = /^Error: approval\.answer: \{.*"code":"RUN_ERR_INPUT_ANSWERED"/
  readonly hides = { outcomes: 'an event says that a call has ended, not how' }
  readonly #origin: string

  constructor(origin: string) {
    this.#origin = origin
  }

  async start({ kind, name, input, sessionId, callsClient }: WireRun['job']): Promise<StartedRun> {
    const socket = this.#connect()
    const events = new RunEvents(socket, kind)
    const { runId } = await ask(socket, `${kind}.run`, {
      name,
      input,
      onDisconnect: 'continue',
      parts: true,
      ...(sessionId !== undefined && { sessionId }),
      ...(callsClient && { tools: [PICK] })
    })
    const started = await events.started(runId)
    return { runId, sessionId: started, rest: events.report(runId) }
  }

  async watch(run: WireRun, _isLate: boolean, variant: number): Promise<Partial<Report>> {
    const { job, runId, sessionId, hasSession } = run
    const socket = this.#connect()
    const events = new RunEvents(socket, job.kind)
    if (hasSession && variant < 0.4) {
      await run.beyond(0)
      await ask(socket, 'session.watch', { kind: job.kind, name: job.name, sessionId, after: '0.0' })
    } else await ask(socket, 'run.watch', { runId, parts: true })
    return events.report(runId)
  }

  async answer(_run: WireRun, { id, kind, accept, content, args }: Asked): Promise<void> {
    if (kind === 'approval')
      return this.#once('approval.answer', { approvalId: id, approved: accept, ...(accept && { args }) })
    return this.#once('input.answer', {
      inputId: id,
      ...(accept ? { action: 'accept', content } : { action: 'decline' })
    })
  }

  async cancel({ runId }: WireRun): Promise<void> {
    await this.#once('run.cancel', { runId }, 'RUN_ERR_TERMINAL')
  }

  async #once(event: string, payload: object, allowed?: string): Promise<void> {
    const socket = this.#connect()
    try {
      await ask(socket, event, payload, allowed)
    } finally {
      socket.disconnect()
    }
  }

  #connect(): Socket {
    return io(this.#origin, { transports: ['websocket'], forceNew: true, reconnection: false })
  }
}

async function ask(socket: Socket, event: string, payload: object, allowed?: string): Promise<Payload> {
  const answer = await new Promise<Payload>((resolve, reject) => {
    socket.once('connect_error', reject)
    socket.once('disconnect', (reason) => reject(new Error(reason)))
    socket.emit(event, payload, resolve)
  })
  if ('error' in answer && answer.code !== allowed) throw new Error(`${event}: ${JSON.stringify(answer)}`)
  return answer
}

/** The events of runs on a socket, as the parts that they stand for. */
class RunEvents {
  readonly #socket: Socket
  readonly #kind: string
  readonly #parts = new Map<string, Part[]>()
  #output: { text: string; structured: unknown; usage: object } | undefined
  #wake: (() => void) | undefined
  #hasLeft = false

  constructor(socket: Socket, kind: string) {
    this.#socket = socket
    this.#kind = kind
    socket.onAny((event: string, payload: Payload) => this.#take(event, payload))
    socket.on('disconnect', () => {
      this.#hasLeft = true
      this.#wake?.()
    })
  }

  /** The session of a run, once it has begun. */
  async started(runId: string): Promise<string> {
    const first = await this.#find(runId, ({ type }) => type === 'start')
    return (first as { sessionId: string }).sessionId
  }

  /** Reports a run once it has ended, and disconnects. */
  async report(runId: string): Promise<Report> {
    await this.#find(
      runId,
      (part) => (part.type === 'finish' || part.type === 'error') && !part.source?.length
    )
    this.#socket.disconnect()
    const report = reportOfLog(this.#parts.get(runId)!)
    const { text = report.text } = this.#output ?? {}
    if (text !== report.text) throw new Error(`the output has "${text}", the chunks are "${report.text}"`)
    return report
  }

  async #find(runId: string, isWanted: (part: Part) => boolean): Promise<Part> {
    for (;;) {
      const found = this.#parts.get(runId)?.find(isWanted)
      if (found !== undefined) return found
      if (this.#hasLeft) throw new Error('the socket was disconnected')
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }

  #take(event: string, payload: Payload): void {
    const part = this.#toPart(event.slice(this.#kind.length + 1), payload)
    if (part === undefined) return
    const { runId, seq, source } = payload
    const parts = this.#parts.get(runId) ?? []
    this.#parts.set(runId, parts)
    parts.push({ ...part, seq, ...(source && { source }) } as Part)
    if (event.endsWith('.done')) this.#output = payload.output
    this.#wake?.()
  }

  #toPart(event: string, payload: Payload): object | undefined {
    switch (event) {
      case 'chunk':
        return { type: 'text', text: payload.chunk }
      case 'tool.call':
        return { ...payload, type: 'tool.call' }
      case 'approval':
        return { ...payload, type: 'tool.approval.request' }
      case 'input':
        return { ...payload, type: 'input.request' }
      case 'reset':
        return { type: 'step.start', index: payload.index, attempt: 2 }
      case 'part':
        return payload.seq === undefined ? undefined : payload.part
      case 'done':
        return { type: 'finish', ...payload.output }
      case 'error':
        return { type: 'error', error: { code: payload.code, message: payload.error, retryable: false } }
      default:
        return undefined
    }
  }
}
