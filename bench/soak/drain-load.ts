import { setTimeout as pause } from 'node:timers/promises'
import type { Socket } from 'socket.io-client'
import { ask, call, endOf, openSocket, type Answer, type Ledger } from './drain-clients.ts'

/** One thing that a client does again and again. */
type Act = (ledger: Ledger) => Promise<void>

const input = { input: 'x' }
const later = { prefer: 'respond-async' }
const message = (text: string, fields: object = {}) => ({
  message: { role: 'user', messageId: crypto.randomUUID(), parts: [{ kind: 'text', text }], ...fields },
  configuration: { blocking: false }
})

// Whether new work was refused, as it should be or not.
function isRefused(ledger: Ledger, what: string, { status, headers, text }: Answer): boolean {
  if (status !== 503) return false
  const isRight = text.includes('RUN_ERR_DRAINING') && /^\d+$/.test(headers['retry-after'] ?? '')
  if (isRight) ledger.refusals++
  else ledger.fault(`${what}: ${status} ${text}`)
  return true
}

// Requests in progress are served until the end, or learn that their run has already ended.
function check(ledger: Ledger, what: string, { status, text }: Answer, ...also: number[]): void {
  if (status === 200 || also.includes(status)) ledger.serve(what)
  else ledger.fault(`${what}: ${status} ${text.slice(0, 200)}`)
}

const any = (ids: readonly string[]) => ids[Math.floor(Math.random() * ids.length)]

const HTTP: Readonly<Record<string, Act>> = {
  async stream(ledger) {
    const isLate = ledger.isDraining
    let runId = ''
    const answer = await ask(ledger, 'POST', '/api/agents/talker/stream', input, {}, ({ headers }) => {
      runId = String(headers['x-run-id'] ?? '')
      if (runId !== '') ledger.started('talker', runId, isLate)
    })
    if (isRefused(ledger, 'HTTP stream', answer)) return
    const end = endOf(answer.text)
    if (end === undefined) ledger.untrue.push(`a stream ended without a word: ${answer.text.slice(-200)}`)
    else ledger.record(runId, end)
  },
  async run(ledger) {
    const answer = await ask(ledger, 'POST', '/api/workflows/flow/run', input)
    const { status, headers, json } = answer
    if (status === 503 && json?.code === 'RUN_ERR_SUSPENDED') {
      const runId = String(headers['x-run-id'])
      if (headers.location !== `/api/runs/${runId}`) ledger.untrue.push(`no Location but ${headers.location}`)
      ledger.record(runId, 'suspended')
    } else if (!isRefused(ledger, 'HTTP run', answer)) ledger.record(json.runId, 'completed')
  },
  async read(ledger) {
    const runId = any([...ledger.accepted])
    if (runId !== undefined) check(ledger, 'HTTP read', await ask(ledger, 'GET', `/api/runs/${runId}`))
  },
  async list(ledger) {
    check(ledger, 'HTTP list', await ask(ledger, 'GET', '/api/runs?limit=5'))
  },
  async watch(ledger) {
    const runId = any(ledger.runs['talker']!)
    if (runId === undefined) return
    const answer = await ask(ledger, 'GET', `/api/runs/${runId}/stream`)
    check(ledger, 'HTTP watch', answer)
    const end = endOf(answer.text)
    if (end !== undefined) ledger.record(runId, end)
  },
  async cancel(ledger) {
    const runId = ledger.take('endless')
    if (runId === undefined) return
    const answer = await ask(ledger, 'POST', `/api/runs/${runId}/cancel`)
    check(ledger, 'HTTP cancel', answer, 409)
    if (answer.status === 200) ledger.record(runId, answer.json.status)
  },
  async approve(ledger) {
    const runId = ledger.take('asker')
    if (runId === undefined) return
    const answer = await ask(ledger, 'POST', `/api/approvals/${runId}.1`, { approved: true })
    check(ledger, 'HTTP approve', answer, 409)
  },
  async health(ledger) {
    const ready = await ask(ledger, 'GET', '/api/readyz')
    if (!isRefused(ledger, 'readyz', ready)) check(ledger, 'HTTP ready', ready)
    check(ledger, 'HTTP live', await ask(ledger, 'GET', '/api/livez'))
  }
}

const A2A: Readonly<Record<string, Act>> = {
  async send(ledger) {
    const isLate = ledger.isDraining
    const answer = await call(ledger, 'message/send', message('talker'))
    if (!isRefused(ledger, 'A2A send', answer)) ledger.started('talker', answer.json.result.id, isLate)
  },
  async get(ledger) {
    const id = any([...ledger.accepted])
    if (id !== undefined) check(ledger, 'A2A get', await call(ledger, 'tasks/get', { id }))
  },
  async list(ledger) {
    check(ledger, 'A2A list', await call(ledger, 'tasks/list', { pageSize: 5 }))
  },
  async follow(ledger) {
    const id = any(ledger.runs['talker']!)
    if (id === undefined) return
    const answer = await call(ledger, 'tasks/resubscribe', { id })
    check(ledger, 'A2A follow', answer)
    const [, end] =
      /"state":"(completed|failed|canceled)"[^\n]*"final":true[^\n]*\n\n$/.exec(answer.text) ?? []
    if (end !== undefined) ledger.record(id, end as 'completed')
  },
  async cancel(ledger) {
    const id = ledger.take('endless')
    if (id === undefined) return
    const answer = await call(ledger, 'tasks/cancel', { id })
    check(ledger, 'A2A cancel', answer)
    if (answer.json.result !== undefined) ledger.record(id, answer.json.result.status.state)
  },
  async answer(ledger) {
    const taskId = ledger.take('asker')
    if (taskId === undefined) return
    check(ledger, 'A2A answer', await call(ledger, 'message/send', message('approve', { taskId })))
  }
}

type SocketAct = (ledger: Ledger, socket: Socket) => Promise<void>

const emit = (socket: Socket, event: string, payload: object) =>
  socket.timeout(5_000).emitWithAck(event, payload) as Promise<{
    code?: string
    runId?: string
    ok?: boolean
    status?: string
  }>

const SOCKET: Readonly<Record<string, SocketAct>> = {
  async run(ledger, socket) {
    const isLate = ledger.isDraining
    const { runId, code } = await emit(socket, 'agent.run', {
      name: 'talker',
      ...input,
      onDisconnect: 'continue'
    })
    if (runId !== undefined) ledger.started('talker', runId, isLate)
    else if (code === 'RUN_ERR_DRAINING') ledger.refusals++
    else ledger.fault(`socket run: ${code}`)
  },
  async watch(ledger, socket) {
    const runId = any([...ledger.runs['talker']!, ...ledger.runs['flow']!])
    if (runId === undefined) return
    const { status, code } = await emit(socket, 'run.watch', { runId })
    if (status === undefined) ledger.fault(`socket watch: ${code}`)
    else ledger.serve('socket watch')
  },
  async cancel(ledger, socket) {
    const runId = ledger.take('endless')
    if (runId === undefined) return
    const { ok, code } = await emit(socket, 'run.cancel', { runId })
    if (ok) ledger.record(runId, 'canceled')
    if (ok || code === 'RUN_ERR_TERMINAL') ledger.serve('socket cancel')
    else ledger.fault(`socket cancel: ${code}`)
  },
  async approve(ledger, socket) {
    const runId = ledger.take('asker')
    if (runId === undefined) return
    const { ok, code } = await emit(socket, 'approval.answer', { approvalId: `${runId}.1`, approved: true })
    if (ok || code === 'RUN_ERR_INPUT_ANSWERED') ledger.serve('socket approve')
    else ledger.fault(`socket approve: ${code}`)
  }
}

/** Starts so many runs of each kind that does not end by itself, to be canceled and approved while it drains. */
export async function seed(ledger: Ledger, count: number): Promise<void> {
  for (const path of ['agents/endless', 'agents/asker', 'workflows/flow'])
    for (let index = 0; index < count; index++) {
      const { json } = await ask(ledger, 'POST', `/api/${path}/run`, input, later)
      ledger.started(path.split('/')[1]!, json.runId, false)
    }
  // A run without a cancel is watched like the others, until the end of the drain.
  ledger.runs['talker']!.push(ledger.runs['endless']!.pop()!)
}

/** What is served until the end, as the ledger has it. */
export const SERVED_TO_THE_END = [
  ...['read', 'list', 'watch', 'cancel', 'approve', 'live'].map((act) => `HTTP ${act}`),
  ...['get', 'list', 'follow', 'cancel', 'answer'].map((act) => `A2A ${act}`),
  ...['watch', 'cancel', 'approve', 'connect'].map((act) => `socket ${act}`)
]

/** So many clients of each kind that do everything again and again, until the service is gone. */
export async function load(ledger: Ledger, clients: number): Promise<void> {
  const loops: Promise<void>[] = []
  for (let index = 0; index < clients; index++)
    for (const act of [...Object.values(HTTP), ...Object.values(A2A)])
      loops.push(repeat(ledger, () => act(ledger)))
  for (const act of Object.values(SOCKET)) loops.push(repeat(ledger, () => onNewSocket(ledger, act)))
  await Promise.all(loops)
}

async function onNewSocket(ledger: Ledger, act: SocketAct): Promise<void> {
  const socket = await openSocket(ledger)
  ledger.serve('socket connect')
  try {
    for (let time = 0; time < 10; time++) {
      // What is sent then is kept for a connection that does not come.
      if (socket.disconnected) throw new Error('disconnected')
      await act(ledger, socket)
      await pause(10)
    }
  } finally {
    socket.disconnect()
  }
}

async function repeat(ledger: Ledger, act: () => Promise<void>): Promise<void> {
  while (!ledger.isOver) {
    try {
      await act()
    } catch (err) {
      ledger.fault(`connection: ${(err as Error).message}`)
      return
    }
    await pause(10)
  }
}
