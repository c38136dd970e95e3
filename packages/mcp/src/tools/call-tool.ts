import { inputRequired, type CallToolResult, type ServerContext } from '@modelcontextprotocol/server'
import type { Run, Runnable } from '@svc/registry'
import { codeOf, requireAllowed, requireRun, toStartOptions } from '@svc/registry/kit'
import { isTellable } from '../server/to-protocol-error.ts'
import { MCP_ERR_BAD_STATE, MCP_ERR_UNKNOWN_TOOL } from '../errors.ts'
import { answerElicitations } from '../inputs/answer-elicitations.ts'
import { toInputRequests } from '../inputs/elicitation.ts'
import { requestInputs } from '../inputs/request-inputs.ts'
import { runUri } from '../resources/run-uri.ts'
import { clientOf } from '../server/caller.ts'
import type { Caller } from '../server/caller.ts'
import { credentialsPageOf, type Surface } from '../surface.ts'
import { toTask, type TaskResult } from '../tasks/task.ts'
import { isObjectSchema, toRunInput } from './tool-input.ts'
import { followRun } from './follow-run.ts'
import { ProgressCount } from './progress.ts'
import { RunView } from './run-view.ts'
import { findRunnable } from './tool-name.ts'
import { toErrorResult, toToolResult } from './tool-result.ts'

type InputRequired = Required<Parameters<typeof inputRequired>[0]>

/** The parameters of `tools/call`. */
export interface ToolCall {
  readonly name: string
  readonly arguments?: Readonly<Record<string, unknown>> | undefined
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
 * @throws MCP_ERR_UNKNOWN_TOOL, MCP_ERR_BAD_STATE, MCP_ERR_FORBIDDEN, MCP_ERR_MISSING_SCOPE, RUN_ERR_STORE
 */
export async function callTool(
  surface: Surface,
  caller: Caller,
  call: ToolCall,
  ctx: ServerContext
): Promise<CallToolResult | TaskResult | ReturnType<typeof inputRequired>> {
  const runnable = findRunnable(surface.exposed, call.name)
  if (runnable === undefined) throw new MCP_ERR_UNKNOWN_TOOL(call.name)
  const state = ctx.mcpReq.requestState()
  let run: CalledRun
  try {
    run =
      typeof state === 'string'
        ? await resumeCall(surface, caller, runnable, state, ctx.mcpReq.inputResponses)
        : await startCall(surface, caller, runnable, call)
  } catch (err) {
    if (!isTellable(err) || !codeOf(err)?.startsWith('RUN_ERR_')) throw err
    return toErrorResult({ code: codeOf(err)!, message: (err as Error).message })
  }
  return followCall(surface, caller, runnable, run, ctx)
}

async function startCall(
  surface: Surface,
  { principal, headers, log }: Caller,
  runnable: Runnable,
  call: ToolCall
): Promise<CalledRun> {
  const { kind, name } = runnable
  await requireAllowed(surface, principal, 'run', { kind, name })
  const { onDisconnect } = surface.settings
  const body = toRunInput(runnable, call.arguments)
  const options = toStartOptions(surface, runnable, {
    ...{ body, principal, onDisconnect, headers, log }
  })
  const started = await surface.runs.start(runnable, body.input, options)
  return { runId: started.runId, started, answered: [] }
}

async function resumeCall(
  surface: Surface,
  { principal }: Caller,
  { kind, name }: Runnable,
  state: string,
  results: Readonly<Record<string, unknown>> = {}
): Promise<CalledRun> {
  const runId = readState(state)
  const run = await requireRun(surface, runId, principal).catch((err: unknown) => {
    throw codeOf(err) === 'RUN_ERR_NOT_FOUND' ? new MCP_ERR_BAD_STATE() : err
  })
  if (run.kind !== kind || run.name !== name) throw new MCP_ERR_BAD_STATE()
  const answered = await answerElicitations(surface, principal, runId, results)
  return { runId, answered }
}

async function followCall(
  surface: Surface,
  caller: Caller,
  runnable: Runnable,
  { runId, started, answered }: CalledRun,
  ctx: ServerContext
) {
  const { taskAfter, onDisconnect } = surface.settings
  const { signal } = ctx.mcpReq
  const client = clientOf(caller, ctx)
  const view = new RunView(credentialsPageOf(surface, runId, client.elicits.url))
  const requested = new Set<string>()
  await followRun(surface.runs, runId, view, {
    signal,
    timeout: client.knowsTasks ? taskAfter : undefined,
    ...progressTo(ctx),
    onWaiting() {
      const forms = Object.entries(view.elicitations).filter(([inputId]) => !answered.includes(inputId))
      if (forms.length === 0) return client.knowsTasks && answered.length === 0
      if (caller.isModern) return true
      const askable = forms.filter(([, { mode }]) => client.elicits[mode])
      for (const [inputId, form] of askable)
        if (!requested.has(inputId)) {
          requested.add(inputId)
          requestInputs(ctx, inputId, form, client)
        }
      return askable.length === 0
    }
  })
  if (view.ended) {
    const isStructured = caller.isModern || isObjectSchema(runnable.describe().output)
    return toToolResult(surface, runId, view, isStructured)
  }
  if (signal.aborted) {
    if (onDisconnect === 'cancel' && started !== undefined && !started.replayed && !started.joined)
      await started.cancel()
    return toErrorResult({ code: 'RUN_ERR_SUSPENDED', message: 'The client has left' }, { runId })
  }
  if (client.knowsTasks) return toTask(surface, runId)
  const waits = view.isWaiting ? view.elicitations : {}
  const isAsking = Object.keys(waits).length > 0
  // Refuses clients that fill in no forms, as the revision has it.
  if (isAsking && caller.isModern)
    return inputRequired({
      inputRequests: toInputRequests(waits) as InputRequired['inputRequests'],
      requestState: toState(runId, view.seq)
    })
  return toErrorResult(
    {
      code: 'RUN_ERR_SUSPENDED',
      message: isAsking
        ? `The run waits for an answer that this client cannot give: ${Object.values(waits)
            .map(({ message }) => message)
            .join(' ')}`
        : 'The service ends; the run continues'
    },
    { runId, uri: runUri(runId) }
  )
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
function progressTo({ mcpReq }: ServerContext) {
  const { _meta: meta } = mcpReq
  const progressToken = meta?.progressToken
  if (progressToken === undefined) return {}
  const count = new ProgressCount()
  return {
    onPart(part: Parameters<ProgressCount['add']>[0]) {
      const progress = count.add(part)
      if (progress === undefined) return
      // It fails only if the client has left, which the signal reports.
      mcpReq
        .notify({ method: 'notifications/progress', params: { progressToken, ...progress } })
        .catch(() => {})
    }
  }
}
