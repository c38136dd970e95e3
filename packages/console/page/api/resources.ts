import type {
  ApprovalAnswer,
  InputAnswer,
  PendingApproval,
  PendingInput,
  RunnableKind,
  RunnableMetadata,
  RunRecord,
  RunStats,
  RunStatus,
  Session,
  SessionChange,
  SessionMessage
} from '@svc/contract'
import { ApiError, call, segment, send, type ApiRequest } from './client.ts'

/** A start of a run. */
export interface NewRun {
  readonly input: unknown
  readonly sessionId?: string | undefined
  readonly afterTurn?: string | null
  readonly whenBusy?: 'queue' | 'reject' | 'steer' | 'interrupt' | 'replace'
  /** They follow the text of `input`. */
  readonly files?: readonly File[]
}

/** Bytes of files that are sent as base64 within the JSON, which every service accepts up to its limit of bodies. */
const MAX_INLINE = 600_000

/** The body of a start: JSON, or a form if it has files that are too large for that. */
async function toStartBody({ files = [], ...start }: NewRun): Promise<unknown> {
  if (files.length === 0) return start
  const size = files.reduce((total, file) => total + file.size, 0)
  // A form cannot say `null`, nor have parts that are no files.
  const fitsForm = start.afterTurn !== null && typeof start.input === 'string'
  return size > MAX_INLINE && fitsForm ? toForm(start, files) : toJson(start, files)
}

function toForm(start: NewRun, files: readonly File[]): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(start)) if (value) form.set(name, String(value))
  for (const file of files) form.append('files', file)
  return form
}

async function toJson(start: NewRun, files: readonly File[]): Promise<NewRun> {
  const { input } = start
  const said = Array.isArray(input) ? input : input === '' ? [] : [{ type: 'text', text: input }]
  return { ...start, input: [...said, ...(await Promise.all(files.map(toPart)))] }
}

async function toPart(file: File) {
  const mimeType = file.type || 'application/octet-stream'
  const [, type = 'file'] = /^(image|audio)\//.exec(mimeType) ?? []
  const data = await readBase64(file)
  return { type, mimeType, filename: file.name, data }
}

function readBase64(file: File): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const reader = new FileReader()
  reader.addEventListener('load', () => resolve((reader.result as string).replace(/^[^,]*,/, '')))
  reader.addEventListener('error', () => reject(new Error(`${file.name} cannot be read.`)))
  reader.readAsDataURL(file)
  return promise
}

type Signal = Pick<ApiRequest, 'signal'>

/** A run as an item of a list; what it took is known once it is over. */
export interface RunItem extends Omit<RunRecord, 'result'>, Partial<RunStats> {
  readonly preview?: string
}

/** One page of a list. */
type Page<Name extends string, Item> = Readonly<Record<Name, Item[]>> & { readonly nextCursor: string | null }

/** A wire of the service. */
export interface Wire {
  readonly name: string
  /** Of the app, from its root. */
  readonly path: string
  /** The path of its document: OpenAPI, AsyncAPI or an agent card. */
  readonly document?: string
}

/** The names of the runnables that the visitor may read, and the wires of the service. */
export interface Names {
  readonly wires: readonly Wire[]
  readonly agents: readonly string[]
  readonly teams: readonly string[]
  readonly workflows: readonly string[]
}

/** Names a runnable. */
export interface RunnableRef {
  readonly kind: RunnableKind
  readonly name: string
}

/** Names a session. */
export interface SessionRef extends RunnableRef {
  readonly sessionId: string
}

/** A session with a page of its messages, oldest first. */
export interface SessionDetail extends Session {
  readonly messages: { readonly runId: string; readonly message: SessionMessage }[]
  readonly branches: { readonly after: string | null; readonly turns: readonly string[] }[]
  readonly nextCursor: string | null
  readonly lastEventId: string
}

/** Selects runs. */
export interface RunFilter {
  readonly status?: RunStatus | undefined
  readonly name?: string | undefined
  readonly metadata?: { readonly key: string; readonly value: string } | undefined
  /** Only runs that changed then or later, last changed first; ISO 8601. */
  readonly since?: string | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** How the process that answers is doing. */
export interface HealthReport {
  readonly status: string
  /** Seconds. */
  readonly uptime: number
  readonly eventLoop: {
    readonly utilization: number
    readonly delayMs: { readonly p50: number; readonly p99: number; readonly max: number }
  }
  /** Bytes. */
  readonly memory: Readonly<Record<'rss' | 'heapUsed' | 'heapTotal' | 'external', number>>
  readonly runs: { readonly active: number; readonly waiting?: number }
  readonly errors: readonly { readonly code: string; readonly count: number; readonly lastAt: string }[]
}

/** Whether the service accepts runs, or why it does not. */
export interface Readiness {
  readonly isReady: boolean
  readonly message: string
}

const runnable = ({ kind, name }: RunnableRef) => `${kind}s/${segment(name)}`
const session = ({ kind, name, sessionId }: SessionRef) =>
  `sessions/${kind}/${segment(name)}/${segment(sessionId)}`

export const getNames = (request?: Signal) => call<Names>('registry', request)

export const getRunnable = (ref: RunnableRef, request?: Signal) =>
  call<RunnableMetadata>(runnable(ref), request)

/** The runnables of a kind that the visitor may read, at most 1,000. */
export const listRunnables = (kind: RunnableKind, request?: Signal) =>
  call<RunnableMetadata[]>(`${kind}s`, request)

export const listRuns = ({ metadata, ...filter }: RunFilter, request?: Signal) =>
  call<Page<'runs', RunItem>>('runs', {
    ...request,
    query: { ...filter, ...(metadata && { [`metadata[${metadata.key}]`]: metadata.value }) }
  })

export const cancelRun = (runId: string) =>
  call<RunRecord>(`runs/${segment(runId)}/cancel`, { method: 'POST', body: {} })

/** Starts a run that continues without its client; a repeated start with the same key is the same run. */
export const startRun = async (ref: RunnableRef, start: NewRun, key: string) =>
  call<RunRecord>(`${runnable(ref)}/run`, {
    method: 'POST',
    body: await toStartBody(start),
    headers: { prefer: 'respond-async', 'idempotency-key': key }
  })

export const listApprovals = (query: { runId?: string; cursor?: string }, request?: Signal) =>
  call<Page<'approvals', PendingApproval>>('approvals', { ...request, query: { ...query, limit: 100 } })

export const getApproval = (approvalId: string, request?: Signal) =>
  call<PendingApproval>(`approvals/${segment(approvalId)}`, request)

export const answerApproval = (approvalId: string, answer: ApprovalAnswer) =>
  call<RunRecord>(`approvals/${segment(approvalId)}`, { method: 'POST', body: answer })

export const listInputs = (query: { runId?: string; cursor?: string }, request?: Signal) =>
  call<Page<'inputs', PendingInput>>('inputs', { ...request, query: { ...query, limit: 100 } })

export const getInput = (inputId: string, request?: Signal) =>
  call<PendingInput>(`inputs/${segment(inputId)}`, request)

export const answerInput = (inputId: string, answer: InputAnswer) =>
  call<RunRecord>(`inputs/${segment(inputId)}`, { method: 'POST', body: answer })

export const listSessions = (
  query: { kind?: RunnableKind; name?: string; cursor?: string; limit?: number },
  request?: Signal
) => call<Page<'sessions', Session>>('sessions', { ...request, query })

export const getSession = (
  ref: SessionRef,
  query: { before?: string; branch?: string; limit?: number } = {},
  request?: Signal
) => call<SessionDetail>(session(ref), { ...request, query })

export const updateSession = (ref: SessionRef, change: SessionChange) =>
  call<Session>(session(ref), { method: 'PATCH', body: change })

/** Deletes a session with all that was made of it; its forks too if that is wanted. */
export const deleteSession = (ref: SessionRef, forks: boolean) =>
  call<unknown>(session(ref), { method: 'DELETE', query: { forks: forks ? 'true' : undefined } })

/** Makes a session with the same history, up to the turn of a run if one is named. */
export const forkSession = (ref: SessionRef, runId?: string) =>
  call<Session>(`${session(ref)}/fork`, { method: 'POST', body: { ...(runId !== undefined && { runId }) } })

export const sessionStream = (ref: SessionRef): string => `${session(ref)}/stream`
export const runStream = (runId: string): string => `runs/${segment(runId)}/stream`

/** A file of a run. Its type is the one that was checked here, whatever the reply says. */
export async function readFile(runId: string, fileId: string, type: string, signal?: AbortSignal) {
  const response = await send(`runs/${segment(runId)}/files/${segment(fileId)}`, { signal })
  return new Blob([await response.arrayBuffer()], { type })
}

export const getHealth = (request?: Signal) => call<HealthReport>('admin/health', request)

/** @throws ApiError if the service cannot be reached */
export const getReadiness = (request?: Signal): Promise<Readiness> =>
  call('readyz', request).then(
    () => ({ isReady: true, message: '' }),
    (err: unknown) => {
      if (err instanceof ApiError && err.status === 503) return { isReady: false, message: err.message }
      throw err
    }
  )
