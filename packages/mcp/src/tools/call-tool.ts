import { Type, type Static } from '@sinclair/typebox'
import { callNextTurn, codeOf, createPause, isPromise, type Part, type Runnable } from '@svc/contract'
import { LogReader, requireAllowed, requireRun, toStartOptions, type LogHost, type Run } from '@svc/surface'
import { MCP_ERR_BAD_STATE, MCP_ERR_UNKNOWN_TOOL } from '../errors.ts'
import {
  answerElicitations,
  toElicitRequest,
  toInputRequests,
  type Elicitation,
  type InputRequests
} from '../inputs/elicitation.ts'
import { IdSchema, missingCapability, type RequestId, type ToolResult } from '../protocol/message.ts'
import { runUri } from '../resources/run-uri.ts'
import { isProtocolError, isVisible, type Call, type Client, type Exchange } from '../server/call.ts'
import { credentialsPageOf, type Surface } from '../surface.ts'
import { toTask, type TaskResult } from '../tasks/task.ts'
import { findRunnable, isObjectSchema, toRunInput } from './list-tools.ts'
import { CallView } from './call-view.ts'
import { toErrorResult, toToolResult } from './tool-result.ts'

/** How a run is followed. */
export interface Following {
  /** Called once with what ends the following. */
  onLeave(leave: () => void): void
  /** Milliseconds until it ends by itself. */
  readonly timeout?: number | undefined
  onPart?(part: Part): void
  /** Called whenever the log has nothing more for now and the run only waits; true ends the following. */
  onWaiting(): boolean
}

/**
 * Reads the log of a run from its start into a view, until the run ends, until it waits and that is enough, or until the time or the caller
 * ends it. Costs nothing while the log is silent; what the run logs in one turn of the event loop is read at once.
 */
async function followRun(
  host: LogHost,
  runId: string,
  view: CallView,
  { timeout, onLeave, onPart, onWaiting }: Following
): Promise<void> {
  const reader = new LogReader(host, runId, 0, true)
  const pause = createPause()
  let isOver = false
  let wake: (() => void) | undefined
  const leave = () => {
    isOver = true
    wake?.()
  }
  onLeave(leave)
  const timer = timeout === undefined ? undefined : setTimeout(leave, timeout)
  try {
    await new Promise<void>(callNextTurn)
    while (!reader.ended) {
      const reading = reader.read()
      const entries = isPromise(reading) ? await reading : reading
      for (const { part } of entries) {
        view.add(part)
        onPart?.(part)
      }
      if (entries.length > 0 || reader.ended) {
        await pause()
        continue
      }
      if (isOver || (view.isWaiting && onWaiting())) return
      await new Promise<void>((resolve) => {
        wake = () => callNextTurn(resolve)
        reader.onNews(wake)
        if (isOver) resolve()
      })
    }
  } finally {
    clearTimeout(timer)
    reader.close()
  }
}

/** One `notifications/progress`, without its token. */
export interface Progress {
  readonly progress: number
  readonly total?: number
  readonly message?: string
}

/** The progress of a run: its tool calls and files, or what its `data` parts named `progress` say. Never decreases. */
class ProgressCount {
  #progress: number | undefined

  /** What a part adds; undefined if nothing. */
  add(part: Part): Progress | undefined {
    switch (part.type) {
      case 'tool.call':
        return this.#next(`Calls ${part.toolName}`)
      case 'file':
        return this.#next(`Has made ${part.filename ?? part.mimeType}`)
      case 'data':
        return part.name === 'progress' ? this.#take(part.value) : undefined
      default:
        return undefined
    }
  }

  #next(message: string): Progress {
    this.#progress = (this.#progress ?? 0) + 1
    return { progress: this.#progress, message }
  }

  #take(value: unknown): Progress | undefined {
    const { progress, total, message } = (value ?? {}) as Readonly<Record<string, unknown>>
    if (typeof progress !== 'number' || progress <= (this.#progress ?? -Infinity)) return undefined
    this.#progress = progress
    return {
      progress,
      ...(typeof total === 'number' && { total }),
      ...(typeof message === 'string' && { message })
    }
  }
}

/** The parameters of `tools/call`. */
export const ToolCallSchema = Type.Object({
  name: Type.String(),
  arguments: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  requestState: Type.Optional(Type.String()),
  inputResponses: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  _meta: Type.Optional(Type.Object({ progressToken: Type.Optional(IdSchema) }))
})
type ToolCall = Static<typeof ToolCallSchema>

/** The result of a call that continues with the answers of the user, since 2026-07-28. */
interface InputRequired {
  readonly resultType: 'input_required'
  readonly inputRequests: InputRequests
  readonly requestState: string
}

/** The run of a call: one that the call has started, or an earlier one that it continues. */
interface CalledRun {
  readonly runId: string
  readonly started?: Run
  /** Inputs that the call has answered; its log may not have the answers yet. */
  readonly answered: readonly string[]
}

/**
 * Runs the runnable of a tool and resolves with its answer; with a request for inputs, where it waits for them; or, for clients that know
 * tasks, with a task that continues. Errors of the run are results, so that the model of the client can read them.
 * @throws RpcError, MCP_ERR_UNKNOWN_TOOL, MCP_ERR_BAD_STATE, MCP_ERR_FORBIDDEN, MCP_ERR_MISSING_SCOPE, RUN_ERR_STORE
 */
export async function callTool(
  surface: Surface,
  call: Call,
  params: ToolCall
): Promise<ToolResult | TaskResult | InputRequired> {
  const runnable = await findRunnable(surface.exposed, params.name)
  if (runnable === undefined) throw new MCP_ERR_UNKNOWN_TOOL(params.name)
  const { kind, name } = runnable
  await requireAllowed(surface, call.principal, 'run', { kind, name })
  const { requestState } = params
  let run: CalledRun
  try {
    run =
      requestState === undefined
        ? await startCall(surface, call, runnable, params)
        : await resumeCall(surface, call, runnable, requestState, params)
  } catch (err) {
    if (!isVisible(err) || isProtocolError(err)) throw err
    return toErrorResult({ code: codeOf(err)!, message: (err as Error).message })
  }
  return followCall(surface, call, runnable, run, params)
}

async function startCall(
  surface: Surface,
  { principal, headers, log }: Call,
  runnable: Runnable,
  params: ToolCall
): Promise<CalledRun> {
  const { onDisconnect } = surface.settings
  const body = toRunInput(runnable, params.arguments)
  const options = toStartOptions(surface, runnable, { body, principal, onDisconnect, headers, log })
  const started = await surface.runs.start(runnable, body.input, options)
  return { runId: started.runId, started, answered: [] }
}

async function resumeCall(
  surface: Surface,
  { principal }: Call,
  { kind, name }: Runnable,
  state: string,
  { inputResponses = {} }: ToolCall
): Promise<CalledRun> {
  const runId = readState(state)
  const run = await requireRun(surface, runId, principal).catch((err: unknown) => {
    throw codeOf(err) === 'RUN_ERR_NOT_FOUND' ? new MCP_ERR_BAD_STATE() : err
  })
  if (run.kind !== kind || run.name !== name) throw new MCP_ERR_BAD_STATE()
  const answered = await answerElicitations(surface, principal, runId, inputResponses)
  return { runId, answered }
}

async function followCall(
  surface: Surface,
  { isModern, client, exchange }: Call,
  runnable: Runnable,
  { runId, started, answered }: CalledRun,
  { _meta: meta }: ToolCall
): Promise<ToolResult | TaskResult | InputRequired> {
  const { taskAfter, onDisconnect } = surface.settings
  const view = new CallView(credentialsPageOf(surface, runId, client.elicits.url))
  const requested = new Set<string>()
  let hasLeft = false
  await followRun(surface.runs, runId, view, {
    timeout: client.knowsTasks ? taskAfter : undefined,
    ...progressTo(exchange, meta?.progressToken),
    onLeave: (leave) =>
      exchange.stay(surface.replies, () => {
        hasLeft = true
        leave()
      }),
    onWaiting() {
      const forms = Object.entries(view.elicitations).filter(([inputId]) => !answered.includes(inputId))
      if (forms.length === 0) return client.knowsTasks && answered.length === 0
      if (isModern) return true
      const askable = forms.filter(([, { mode }]) => client.elicits[mode])
      for (const [inputId, form] of askable)
        if (!requested.has(inputId)) {
          requested.add(inputId)
          exchange.send(toElicitRequest(inputId, form))
        }
      return askable.length === 0
    }
  })
  if (view.end !== undefined) {
    const isStructured = isModern || isObjectSchema(runnable.describe().output)
    return toToolResult(surface, runId, view, isStructured)
  }
  if (hasLeft) {
    if (onDisconnect === 'cancel' && started !== undefined && !started.replayed && !started.joined)
      await started.cancel()
    return toErrorResult({ code: 'RUN_ERR_SUSPENDED', message: 'The client has left' }, { runId })
  }
  if (client.knowsTasks) return toTask(surface, runId)
  const waits = Object.values(view.isWaiting ? view.elicitations : {})
  if (waits.length > 0 && isModern) return requireInputs(runId, view, client)
  return toErrorResult(
    {
      code: 'RUN_ERR_SUSPENDED',
      message:
        waits.length > 0
          ? `The run waits for an answer that this client cannot give: ${waits.map(({ message }) => message).join(' ')}`
          : 'The service ends; the run continues'
    },
    { runId, uri: runUri(runId) }
  )
}

// Refuses clients that cannot ask their users so, as the revision has it.
function requireInputs(runId: string, { elicitations, seq }: CallView, { elicits }: Client): InputRequired {
  for (const { mode } of Object.values<Elicitation>(elicitations))
    if (!elicits[mode]) throw missingCapability({ elicitation: { [mode]: {} } })
  return {
    resultType: 'input_required',
    inputRequests: toInputRequests(elicitations),
    requestState: toState(runId, seq)
  }
}

// The state grants nothing, so it need not be secret: the run must be of the caller and of this tool. The number differs in each round.
function toState(runId: string, seq: number): string {
  return `${runId}.${seq}`
}

function readState(state: string): string {
  const [, runId] = /^(.+)\.\d+$/.exec(state) ?? []
  if (runId === undefined) throw new MCP_ERR_BAD_STATE()
  return runId
}

// Only clients that ask for progress get it.
function progressTo(exchange: Exchange, progressToken: RequestId | undefined) {
  if (progressToken === undefined) return {}
  const count = new ProgressCount()
  return {
    onPart(part: Part) {
      const progress = count.add(part)
      if (progress === undefined) return
      const params = { progressToken, ...progress }
      exchange.send({ jsonrpc: '2.0', method: 'notifications/progress', params })
    }
  }
}
