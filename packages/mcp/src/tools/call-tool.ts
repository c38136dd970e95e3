import { Type, type Static } from '@sinclair/typebox'
import { codeOf, type Part, type Runnable } from '@svc/contract'
import { requireAllowed, requireRun, toStartOptions, type Run } from '@svc/surface'
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
import { isProtocolError, isTellable, type Call, type Client, type Exchange } from '../server/call.ts'
import { credentialsPageOf, type Surface } from '../surface.ts'
import { toTask, type TaskResult } from '../tasks/task.ts'
import { findRunnable, isObjectSchema, toRunInput } from './list-tools.ts'
import { followRun } from './follow-run.ts'
import { ProgressCount } from './progress.ts'
import { RunView } from './run-view.ts'
import { toErrorResult, toToolResult } from './tool-result.ts'

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
  const runnable = findRunnable(surface.exposed, params.name)
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
    if (!isTellable(err) || isProtocolError(err)) throw err
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
  const view = new RunView(credentialsPageOf(surface, runId, client.elicits.url))
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
  if (view.ended) {
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
function requireInputs(runId: string, { elicitations, seq }: RunView, { elicits }: Client): InputRequired {
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
