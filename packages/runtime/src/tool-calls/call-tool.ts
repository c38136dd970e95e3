import type { LanguageModelV4Message } from '@ai-sdk/provider'
import {
  codeOf,
  expose,
  isExposed,
  isPromise,
  toLoggable,
  type Awaitable,
  type FinishReason,
  type RunContext,
  type RunnableKind,
  type YieldedPart
} from '@svc/contract'
import { keepFile } from '@svc/registry/engine'
import {
  approve,
  needsNone,
  type ApprovalRules,
  type ApprovedArgs,
  type GivenArgs
} from '../approvals/approval-manager.ts'
import {
  RUN_ERR_TOOL_BAD_ARGS,
  RUN_ERR_TOOL_BAD_OUTPUT,
  RUN_ERR_TOOL_FAILED,
  RUN_ERR_TOOL_INTERRUPTED,
  RUN_ERR_TOOL_TIMEOUT,
  RUN_ERR_TOOL_UNKNOWN
} from '../errors.ts'
import { unlessAborted, type RunGuard } from '../guards/guard.ts'
import { messageOf, toToolOutput } from '../json/json.ts'
import type { ModelToolCall } from '../models/model-answer.ts'
import { resolveSandbox, type SandboxChoice } from '../sandbox/resolve-sandbox.ts'
import type { Tool, ToolContext } from '../tools/define-tool.ts'
import {
  contentOf,
  isProgramCode,
  toCallPart,
  toOutcomePart,
  toReferences,
  toToolError,
  type CallJournal,
  type CallWork,
  type EmitPart,
  type ToolCall,
  type ToolContentPart,
  type ToolOutcome
} from './tool-outcome.ts'
import { createToolSet, type ToolSet } from '../tools/tool-set.ts'

/** The step that the calls of a model belong to. */
export interface CallingStep {
  readonly runnable: { readonly kind: RunnableKind; readonly name: string }
  readonly stepNumber: number
  readonly messages: readonly LanguageModelV4Message[]
  /** Ends the run after the step. */
  readonly stopRun: (finishReason: FinishReason) => void
}

interface RunCalls {
  readonly step: CallingStep
  readonly context: RunContext
  readonly guard: RunGuard
  readonly emit: EmitPart
}

type RunAccess = Pick<
  ToolContext,
  'runnable' | 'stepNumber' | 'messages' | 'emit' | 'keepFile' | 'onEnd' | 'failRun' | 'stopRun'
>

/** What a tool sees of the run of its call, and does to it. */
function accessRun({ step, context, guard, emit }: RunCalls, toolCallId: string): RunAccess {
  const { runnable, stepNumber, messages, stopRun } = step
  return {
    runnable,
    stepNumber,
    messages,
    emit: (part) => emit(part),
    async keepFile(file) {
      const part = await guard.wait(keepFile(context, { ...file, toolCallId }))
      emit(part)
      return part
    },
    onEnd: (listener) => guard.onRelease(listener),
    failRun(error) {
      guard.end(error)
      throw error
    },
    stopRun
  }
}

/** A time-out that stands still while something else is waited for. */
class PausableTimeout {
  readonly #onTimeout: () => void
  #timer: NodeJS.Timeout | undefined
  #left: number
  #since = 0
  #pauses = 0
  #ended = false

  /** Starts at once; `ms` is in milliseconds. */
  constructor(ms: number, onTimeout: () => void) {
    this.#left = ms
    this.#onTimeout = onTimeout
    this.#start()
  }

  /** Settles like `wait()`; meanwhile the time does not count. */
  async pause<T>(wait: () => Promise<T>): Promise<T> {
    if (this.#pauses++ === 0) {
      clearTimeout(this.#timer)
      this.#left = Math.max(0, this.#left - (performance.now() - this.#since))
    }
    try {
      return await wait()
    } finally {
      if (--this.#pauses === 0 && !this.#ended) this.#start()
    }
  }

  /** Ends the time-out for good. */
  clear(): void {
    this.#ended = true
    clearTimeout(this.#timer)
  }

  #start(): void {
    this.#since = performance.now()
    this.#timer = setTimeout(this.#onTimeout, this.#left)
  }
}

/** What all tool calls of a step share. */
export interface ToolCalls extends ApprovalRules {
  readonly tools: ToolSet
  readonly sandbox: SandboxChoice | undefined
  readonly context: RunContext
  readonly guard: RunGuard
  readonly step: CallingStep
  /** Emits the parts of nested calls and of tools. */
  readonly emit: EmitPart
  /** Only in a resumable run. */
  readonly journal?: CallJournal | undefined
  /** Ends nested calls together with the call that made them. */
  readonly signal?: AbortSignal
}

/**
 * Serves a call unless an earlier process has recorded its outcome; returns the outcome and its part.
 * @throws only the reason why the run must end
 */
async function serveCall<C extends ToolCall>(
  call: C,
  calls: ToolCalls
): Promise<{ outcome: ToolOutcome<C>; part: YieldedPart }> {
  const { journal } = calls
  if (journal === undefined) {
    const outcome = await callTool(call, calls)
    return { outcome, part: toOutcomePart(outcome) }
  }
  const recalled = await journal.recall(call)
  if (recalled !== undefined) return { outcome: recalled, part: journal.replay(recalled) }
  const outcome = await callTool(call, calls)
  return { outcome, part: journal.record(outcome) }
}

/**
 * Serves one tool call: validate → approve → execute. Every failure of the tool becomes an outcome.
 * @throws only the reason why the run must end
 */
async function callTool<C extends ToolCall>(call: C, calls: ToolCalls): Promise<ToolOutcome<C>> {
  const { toolCallId, toolName, args } = call
  const { context, events, guard } = calls
  events.emit('tool.call', () => ({ toolCallId, toolName, args }))
  const attempt = new ToolAttempt(call, calls)
  let outcome: ToolOutcome<C>
  try {
    outcome = { call, ...context.redact(await attempt.run()), durationMs: attempt.durationMs }
  } catch (err) {
    // Not for the model to correct.
    if (codeOf(err) === 'RUN_ERR_REJECTED') guard.end(err)
    guard.check()
    outcome = { call, error: context.redact(toToolError(err)), durationMs: attempt.durationMs }
  }
  const ending = attempt.end()
  if (ending !== undefined) await ending
  const { result, error, durationMs } = outcome
  if (error) events.emit('tool.error', () => ({ toolCallId, toolName, error, durationMs }))
  else events.emit('tool.result', () => ({ toolCallId, toolName, result, durationMs }))
  return outcome
}

type Given = Pick<ToolOutcome, 'result' | 'content' | 'editedArgs'>

class ToolAttempt {
  readonly #call: ToolCall
  readonly #calls: ToolCalls
  readonly #controller = new AbortController()
  // Ends nested calls; most calls make none.
  #over: AbortController | undefined
  #ended = false
  readonly #callsMade: Promise<ToolOutcome>[] = []
  readonly #work: CallWork | undefined
  #startedAt: number | undefined
  #timeout: PausableTimeout | undefined

  constructor(call: ToolCall, calls: ToolCalls) {
    this.#call = call
    this.#calls = calls
    this.#work = calls.journal?.work()
  }

  get durationMs(): number {
    if (this.#startedAt === undefined) return 0
    return Math.round((performance.now() - this.#startedAt) * 1000) / 1000
  }

  run(): Promise<Given> {
    const { signal } = this.#calls
    return signal === undefined ? this.#serve() : unlessAborted(signal, () => this.#serve())
  }

  /** Ends the nested calls; resolves once their outcomes are emitted. */
  end(): Promise<unknown> | undefined {
    this.#work?.end()
    this.#ended = true
    if (this.#over === undefined) return undefined
    this.#over.abort(new RUN_ERR_TOOL_FAILED('The enclosing call has ended'))
    return Promise.allSettled(this.#callsMade)
  }

  get #overSignal(): AbortSignal {
    this.#over ??= new AbortController()
    if (this.#ended) void this.end()
    return this.#over.signal
  }

  async #serve(): Promise<Given> {
    const tool = this.#requireTool()
    const { args } = this.#call
    const value = await this.#validateArgs(tool, args)
    const context = this.#context(tool)
    const { args: approved, edited, asked } = await this.#approve(tool, { args, value }, context)
    if (!tool.idempotent && this.#calls.journal?.mayHaveHappened(this.#call, asked))
      throw new RUN_ERR_TOOL_INTERRUPTED()
    const input = approved === args ? value : await this.#validateArgs(tool, approved)
    const given = await this.#validateResult(tool, await this.#execute(tool, input, context))
    const content = contentOf(given)
    const result = toToolOutput(content ? await toReferences(content) : given, tool.maxOutputBytes)
    if (content !== undefined) await this.#keepFiles(content)
    return { result, ...(content && { content }), ...(edited && { editedArgs: approved }) }
  }

  #approve(tool: Tool, given: GivenArgs, context: ToolContext): Awaitable<ApprovedArgs> {
    const { guard, journal, approval } = this.#calls
    if (needsNone(tool, approval)) return { args: given.args, edited: false, asked: false }
    const rules = { ...this.#calls, durable: journal !== undefined, rest: this.#rest }
    return guard.wait(approve(tool, given, context, rules))
  }

  // Ends with the call, and does not count as its time.
  #askClient<T>(ask: (asker: RunContext, durable: boolean) => Promise<T>): Promise<T> {
    const { context, journal } = this.#calls
    const signal = this.#overSignal
    const asker = context.child(this.#call.toolCallId, { signal, unsourced: true })
    const wait = () => this.#rest(() => ask(asker, journal !== undefined))
    return this.#timeout?.pause(wait) ?? wait()
  }

  // While it waits for someone, a call is no work in progress.
  readonly #rest = <T>(wait: () => Promise<T>): Promise<T> => this.#work?.rest(wait) ?? wait()

  // Their parts come before the result's, so that no crash leaves a result without them.
  async #keepFiles(content: readonly ToolContentPart[]): Promise<void> {
    const { context, guard, emit } = this.#calls
    const { toolCallId } = this.#call
    for (const part of content) {
      if (part.type === 'text') continue
      const { type: _, ...file } = part
      emit(await guard.wait(keepFile(context, { ...file, toolCallId })))
    }
  }

  #requireTool(): Tool {
    const { toolName, fault } = this.#call
    const { tools } = this.#calls
    const tool = tools.get(toolName)
    if (tool === undefined) {
      const known =
        tools.names.length === 0 ? 'the agent has no tools' : `known tools: ${tools.names.join(', ')}`
      throw new RUN_ERR_TOOL_UNKNOWN(`"${toolName.slice(0, 64)}"; ${known}`)
    }
    if (fault !== undefined) throw new RUN_ERR_TOOL_BAD_ARGS(fault)
    return tool
  }

  async #validateArgs(tool: Tool, args: unknown): Promise<unknown> {
    const validated = await this.#settle(tool.validateInput(args))
    if (validated.fault !== undefined) throw new RUN_ERR_TOOL_BAD_ARGS(validated.fault)
    return validated.value
  }

  async #validateResult({ validateOutput }: Tool, result: unknown): Promise<unknown> {
    if (validateOutput === undefined) return result
    const validated = await this.#settle(validateOutput(result))
    if (validated.fault !== undefined) throw new RUN_ERR_TOOL_BAD_OUTPUT(validated.fault)
    return validated.value
  }

  #settle<T>(work: Awaitable<T>): Awaitable<T> {
    return isPromise(work) ? this.#calls.guard.wait(work) : work
  }

  #context(tool: Tool): ToolContext {
    const { context, sandbox } = this.#calls
    const { toolCallId } = this.#call
    return {
      ...accessRun(this.#calls, toolCallId),
      signal: this.#controller.signal,
      principal: context.principal,
      sessionId: context.sessionId,
      runId: context.runId,
      log: context.log,
      toolCallId,
      idempotencyKey: `${context.idempotencyKey}:${toolCallId}`,
      context,
      sandbox: resolveSandbox(tool.sandbox, sandbox),
      ask: (question) => this.#askClient((asker, durable) => asker.ask({ ...question, toolCallId, durable })),
      requestCredentials: (request) =>
        this.#askClient((asker, durable) => asker.requestCredentials({ ...request, toolCallId, durable })),
      callClient: (call) =>
        this.#askClient((asker, durable) => asker.callClient({ ...call, toolCallId, durable })),
      callTool: (other, args, signal) => this.#callOther(other, args, signal)
    }
  }

  async #callOther(tool: Tool, args: unknown, signal?: AbortSignal): Promise<unknown> {
    const over = this.#overSignal
    const ended = signal === undefined ? over : AbortSignal.any([over, signal])
    ended.throwIfAborted()
    const { toolCallId: parentToolCallId } = this.#call
    const toolCallId = `${parentToolCallId}.${this.#callsMade.length + 1}`
    const call = { toolCallId, toolName: tool.name, parentToolCallId, args: args ?? {} }
    const made = this.#emitCall(call, { ...this.#calls, tools: createToolSet([tool]), signal: ended })
    this.#callsMade.push(made)
    const { result, error } = await (this.#work?.rest(() => made) ?? made)
    if (error) throw expose(error)
    return result
  }

  async #emitCall(call: ToolCall, calls: ToolCalls): Promise<ToolOutcome> {
    const { journal, emit } = calls
    if (journal === undefined) emit(toCallPart(call))
    else await journal.begin(call, emit)
    const { outcome, part } = await serveCall(call, calls)
    emit(part)
    return outcome
  }

  // After a time-out the tool's signal aborts, and its result is dropped.
  async #execute(tool: Tool, args: unknown, context: ToolContext): Promise<unknown> {
    const { signal } = this.#calls
    signal?.throwIfAborted()
    this.#startedAt = performance.now()
    const { promise: done, resolve, reject: stop } = Promise.withResolvers<unknown>()
    const end = (reason: unknown) => {
      stop(reason)
      this.#controller.abort(reason)
    }
    const timeout = new PausableTimeout(tool.timeout, () => end(new RUN_ERR_TOOL_TIMEOUT(tool.timeout)))
    this.#timeout = timeout
    const off = this.#calls.guard.onEnd(end)
    const onAbort = () => end(signal?.reason)
    signal?.addEventListener('abort', onAbort)
    try {
      const work = tool.execute(args as never, context)
      if (isPromise(work)) work.then(resolve, stop)
      else resolve(work)
      return await done
    } catch (err) {
      // Rejected too if the tool ended its run before it threw.
      done.catch(() => {})
      if (this.#controller.signal.aborted && err === this.#controller.signal.reason) throw err
      const { toolCallId, log } = context
      if (!isRefusal(err)) log.warn({ err: toLoggable(err), toolName: tool.name, toolCallId }, 'tool failed')
      throw isExposed(err) ? err : new RUN_ERR_TOOL_FAILED(messageOf(err, 'The tool failed'))
    } finally {
      off()
      signal?.removeEventListener('abort', onAbort)
      timeout.clear()
    }
  }
}

// True for a deliberate refusal by the tool, and for a failure of the model's own program.
function isRefusal(err: unknown): boolean {
  return isExposed(err) && ((err.statusCode ?? 500) < 500 || isProgramCode(err.code))
}

/**
 * Serves the tool calls of one step in parallel: yields each outcome as it arrives, and the parts of nested calls; returns
 * the outcomes in the order of the calls.
 * @throws the reason why the run must end
 */
export async function* callTools(
  toolCalls: readonly ModelToolCall[],
  calls: Omit<ToolCalls, 'emit'>
): AsyncGenerator<YieldedPart, ToolOutcome<ModelToolCall>[]> {
  const outcomes: ToolOutcome<ModelToolCall>[] = []
  const ready: { readonly part: YieldedPart; readonly onRead: (() => void) | undefined }[] = []
  let left = toolCalls.length
  let wake: PromiseWithResolvers<void> | undefined
  let failure: { err: unknown } | undefined
  const emit: EmitPart = (part, onRead) => {
    ready.push({ part, onRead })
    wake?.resolve()
  }
  const serve = async (call: ModelToolCall, index: number) => {
    const { outcome, part } = await serveCall(call, { ...calls, emit })
    outcomes[index] = outcome
    left--
    emit(part)
  }
  for (const [index, call] of toolCalls.entries())
    serve(call, index).catch((err: unknown) => {
      failure ??= { err }
      wake?.resolve()
    })
  for (let next = 0; left > 0 || next < ready.length; next++) {
    if (next === ready.length) {
      wake = Promise.withResolvers()
      await wake.promise
    }
    calls.guard.check()
    if (failure !== undefined) throw failure.err
    const { part, onRead } = ready[next]!
    yield part
    onRead?.()
  }
  return outcomes
}
