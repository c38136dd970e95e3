import {
  andThen,
  codeOf,
  defined,
  expose,
  isExposed,
  isPromise,
  MAX_TIMER,
  toLoggable,
  type Awaitable,
  type PartOf,
  type RunContext
} from '@svc/contract'
import { keepFile, type MadeFile } from '@svc/registry/engine'
import { approve, needsNone, type ApprovalRules, type ApprovalWait } from '../approvals/approval-manager.ts'
import {
  RUN_ERR_TOOL_BAD_ARGS,
  RUN_ERR_TOOL_BAD_OUTPUT,
  RUN_ERR_TOOL_FAILED,
  RUN_ERR_TOOL_INTERRUPTED,
  RUN_ERR_TOOL_UNKNOWN
} from '../errors.ts'
import { unlessAborted, type RunGuard } from '../guards/guard.ts'
import { messageOf, toToolOutput } from '../json/json.ts'
import type { ModelToolCall } from '../models/model-answer.ts'
import { resolveSandbox, type SandboxChoice } from '../sandbox/resolve-sandbox.ts'
import type { Validate, Validated } from '../schemas/compile-schema.ts'
import type { ForwardedCall, Tool, ToolContext } from '../tools/define-tool.ts'
import { CallContext, type CallingStep, type CallInProgress, type CallPlace } from './call-context.ts'
import { CallTime } from './call-time.ts'
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

/** What all tool calls of a step share. */
export interface ToolCalls extends ApprovalRules {
  readonly tools: ToolSet
  readonly sandbox: SandboxChoice | undefined
  readonly context: RunContext
  readonly guard: RunGuard
  readonly step: CallingStep
  /** Emits the parts of calls and of tools. */
  readonly emit: EmitPart
  /** Only in a resumable run. */
  readonly journal?: CallJournal | undefined
  /** Ends nested calls together with the call that made them. */
  readonly signal?: AbortSignal
}

/**
 * Serves the tool calls of one step in parallel, and emits the part of each outcome as it arrives; returns the outcomes in the order of
 * the calls, at once if none of the tools waits for anything.
 * @throws the reason why the run must end
 */
export function callTools(
  toolCalls: readonly ModelToolCall[],
  calls: ToolCalls
): Awaitable<ToolOutcome<ModelToolCall>[]> {
  const served = toolCalls.map((call) => serveCall(call, calls))
  if (!served.some(isPromise)) return served as ToolOutcome<ModelToolCall>[]
  const all = Promise.all(served.map((outcome) => Promise.resolve(outcome)))
  // The other calls must not outlive one that fails.
  all.catch((err: unknown) => calls.guard.end(err))
  return all
}

/**
 * Serves one tool call, unless an earlier process has recorded its outcome, and emits its part. Every failure of the tool becomes an
 * outcome.
 * @throws by a promise, and only the reason why the run must end
 */
function serveCall<C extends ToolCall>(call: C, calls: ToolCalls): Awaitable<ToolOutcome<C>> {
  if (calls.journal !== undefined) return resumeCall(call, calls, calls.journal)
  try {
    return new ToolAttempt(call, calls).serve()
  } catch (err) {
    return Promise.reject(err)
  }
}

async function resumeCall<C extends ToolCall>(
  call: C,
  calls: ToolCalls,
  journal: CallJournal
): Promise<ToolOutcome<C>> {
  const recalled = await journal.recall(call)
  if (recalled === undefined) {
    const waiting = journal.mayBegin()
    if (isPromise(waiting)) await calls.guard.wait(waiting)
    return new ToolAttempt(call, calls).serve()
  }
  calls.emit(journal.replay(recalled))
  return recalled
}

type Given = Pick<ToolOutcome, 'result' | 'content' | 'editedArgs'>

/**
 * One execution of a tool: validate → approve → execute. It waits only for what is asynchronous, and makes what only some tools use when
 * they ask for it.
 */
class ToolAttempt<C extends ToolCall = ToolCall> implements CallInProgress {
  readonly #call: C
  readonly #calls: ToolCalls
  readonly #work: CallWork | undefined
  #controller: AbortController | undefined
  // Set once the call must end before the tool has.
  #stopped: { readonly reason: unknown } | undefined
  // Ends nested calls; most calls make none.
  #over: AbortController | undefined
  #ended = false
  #callsMade: Promise<ToolOutcome>[] | undefined
  #time: CallTime | undefined

  constructor(call: C, calls: ToolCalls) {
    this.#call = call
    this.#calls = calls
    this.#work = calls.journal?.work()
  }

  get call(): C {
    return this.#call
  }

  get calls(): ToolCalls {
    return this.#calls
  }

  /** Aborts when the tool has to end. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#stopped !== undefined) this.#controller.abort(this.#stopped.reason)
    return this.#controller.signal
  }

  /** The call must end before its tool has. */
  stop(reason: unknown): void {
    this.#stopped ??= { reason }
    this.#controller?.abort(this.#stopped.reason)
  }

  /** Serves the call, and emits its outcome. @throws only the reason why the run must end */
  serve(): Awaitable<ToolOutcome<C>> {
    const { events, signal } = this.#calls
    const { toolCallId, toolName, args } = this.#call
    events.emit('tool.call', () => ({ toolCallId, toolName, args }))
    let given: Awaitable<Given>
    try {
      given = signal === undefined ? this.#run() : unlessAborted(signal, () => this.#run())
    } catch (err) {
      return this.#fail(err)
    }
    return isPromise(given)
      ? given.then(
          (value) => this.#succeed(value),
          (err: unknown) => this.#fail(err)
        )
      : this.#succeed(given)
  }

  #succeed(given: Given): Awaitable<ToolOutcome<C>> {
    return this.#end(this.#calls.context.redact(given))
  }

  #fail(err: unknown): Awaitable<ToolOutcome<C>> {
    const { context, guard } = this.#calls
    // Not for the model to correct.
    if (codeOf(err) === 'RUN_ERR_REJECTED') guard.end(err)
    guard.check()
    return this.#end({ error: context.redact(toToolError(err)) })
  }

  #end(outcome: Given | Pick<ToolOutcome, 'error'>): Awaitable<ToolOutcome<C>> {
    const durationMs = this.#time?.duration ?? 0
    const whole: ToolOutcome<C> = { call: this.#call, ...outcome, durationMs }
    const ending = this.#endCalls()
    return ending === undefined ? this.#report(whole) : ending.then(() => this.#report(whole))
  }

  #report(outcome: ToolOutcome<C>): ToolOutcome<C> {
    const { events, journal, emit } = this.#calls
    const { call, result, error, durationMs } = outcome
    const { toolCallId, toolName } = call
    if (error) events.emit('tool.error', () => ({ toolCallId, toolName, error, durationMs }))
    else events.emit('tool.result', () => ({ toolCallId, toolName, result, durationMs }))
    emit(journal === undefined ? toOutcomePart(outcome) : journal.record(outcome))
    return outcome
  }

  // Ends the nested calls; resolves once their outcomes are emitted.
  #endCalls(): Promise<unknown> | undefined {
    this.#work?.end()
    this.#ended = true
    if (this.#over === undefined) return undefined
    this.#over.abort(new RUN_ERR_TOOL_FAILED('The enclosing call has ended'))
    return this.#callsMade && Promise.allSettled(this.#callsMade)
  }

  get #overSignal(): AbortSignal {
    this.#over ??= new AbortController()
    if (this.#ended) void this.#endCalls()
    return this.#over.signal
  }

  #run(): Awaitable<Given> {
    const tool = this.#requireTool()
    return andThen(this.#validateArgs(tool, this.#call.args), (value) => this.#serve(tool, value))
  }

  #serve(tool: Tool, value: unknown): Awaitable<Given> {
    const { approval, sandbox } = this.#calls
    const context = new CallContext(this, resolveSandbox(tool.sandbox, sandbox))
    if (!needsNone(tool, approval)) return this.#serveApproved(tool, value, context)
    this.#requireFirst(tool, false)
    return this.#use(tool, value, context)
  }

  async #serveApproved(tool: Tool, value: unknown, context: ToolContext): Promise<Given> {
    const { args } = this.#call
    const wait: ApprovalWait = {
      context: this.#calls.context,
      durable: this.#calls.journal !== undefined,
      rest: (ask) => this.#rest(ask)
    }
    const asking = approve(tool, { args, value }, context, { ...this.#calls, ...wait })
    const { args: approved, edited, asked } = await this.#calls.guard.wait(asking)
    this.#requireFirst(tool, asked)
    const input = approved === args ? value : await this.#validateArgs(tool, approved)
    const given = await this.#use(tool, input, context)
    return edited ? { ...given, editedArgs: approved } : given
  }

  #requireFirst(tool: Tool, approved: boolean): void {
    if (!tool.idempotent && this.#calls.journal?.mayHaveHappened(this.#call, approved))
      throw new RUN_ERR_TOOL_INTERRUPTED()
  }

  #use(tool: Tool, args: unknown, context: ToolContext): Awaitable<Given> {
    if (tool.forwards !== undefined) return this.#forward(tool.forwards(args as never))
    const { validateOutput, maxOutputBytes } = tool
    const validate = (result: unknown) =>
      validateOutput === undefined ? result : this.#validateResult(validateOutput, result)
    return andThen(andThen(this.#execute(tool, args, context), validate), (result) => {
      const content = contentOf(result)
      if (content !== undefined) return this.#keepContent(content, maxOutputBytes)
      return { result: toToolOutput(result, maxOutputBytes) }
    })
  }

  // It has what it would have if the model called the tool itself: the time, the bounds and the files are those of the tool.
  async #forward({ tool, args }: ForwardedCall): Promise<Given> {
    const { guard, signal } = this.#calls
    signal?.throwIfAborted()
    this.#time = new CallTime(MAX_TIMER)
    const { result, content, error, editedArgs } = await guard.wait(this.#callNested(tool, args))
    if (error) throw expose(error)
    return {
      result,
      ...defined({ content }),
      ...(editedArgs !== undefined && { editedArgs: { name: tool.name, args: editedArgs } })
    }
  }

  // The parts of files come before that of the result, so that no crash leaves a result without them.
  async #keepContent(content: readonly ToolContentPart[], maxBytes: number): Promise<Given> {
    const result = toToolOutput(await toReferences(content), maxBytes)
    for (const part of content) {
      if (part.type === 'text') continue
      const { type: _, ...file } = part
      await this.keepFile(file)
    }
    return { result, content }
  }

  /** Waits for the client. The wait ends with the call, and does not count as its time. */
  askClient<T>(ask: (asker: RunContext, place: CallPlace) => Promise<T>): Promise<T> {
    const { context, journal } = this.#calls
    const { toolCallId } = this.#call
    const signal = this.#overSignal
    const asker = context.child(toolCallId, { signal, unsourced: true })
    const place = { toolCallId, durable: journal !== undefined }
    const wait = () => this.#rest(() => ask(asker, place))
    return this.#time?.pause(wait) ?? wait()
  }

  // While it waits for someone, a call is no work in progress.
  #rest<T>(wait: () => Promise<T>): Promise<T> {
    return this.#work?.rest(wait) ?? wait()
  }

  /** Keeps a file of the call, and emits its part. */
  async keepFile(file: Omit<MadeFile, 'toolCallId'>): Promise<PartOf<'file'>> {
    const { context, guard, emit } = this.#calls
    const { toolCallId } = this.#call
    const part = await guard.wait(keepFile(context, { ...file, toolCallId }))
    emit(part)
    return part
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

  #validateArgs(tool: Tool, args: unknown): Awaitable<unknown> {
    return andThen(this.#settle(tool.validateInput(args)), requireArgs)
  }

  #validateResult(validate: Validate, result: unknown): Awaitable<unknown> {
    return andThen(this.#settle(validate(result)), requireResult)
  }

  #settle<T>(work: Awaitable<T>): Awaitable<T> {
    return isPromise(work) ? this.#calls.guard.wait(work) : work
  }

  /** Calls another tool as a part of this call. */
  async callOther(tool: Tool, args: unknown, signal?: AbortSignal): Promise<unknown> {
    const { result, error } = await this.#callNested(tool, args, signal)
    if (error) throw expose(error)
    return result
  }

  async #callNested(tool: Tool, args: unknown, signal?: AbortSignal): Promise<ToolOutcome> {
    const over = this.#overSignal
    const ended = signal === undefined ? over : AbortSignal.any([over, signal])
    ended.throwIfAborted()
    const { toolCallId: parentToolCallId } = this.#call
    const callsMade = (this.#callsMade ??= [])
    const toolCallId = `${parentToolCallId}.${callsMade.length + 1}`
    const call = { toolCallId, toolName: tool.name, parentToolCallId, args: args ?? {} }
    const made = this.#emitCall(call, {
      ...this.#calls,
      tools: createToolSet([{ ...tool, deferred: undefined }]),
      signal: ended
    })
    callsMade.push(made)
    return await (this.#work?.rest(() => made) ?? made)
  }

  async #emitCall(call: ToolCall, calls: ToolCalls): Promise<ToolOutcome> {
    const { journal, emit } = calls
    if (journal === undefined) emit(toCallPart(call))
    else await journal.begin(call, emit)
    return serveCall(call, calls)
  }

  #execute(tool: Tool, args: unknown, context: ToolContext): Awaitable<unknown> {
    const { guard, signal } = this.#calls
    signal?.throwIfAborted()
    this.#time = new CallTime(tool.timeout)
    let work: unknown
    try {
      work = tool.execute(args as never, context)
      if (isPromise(work))
        return this.#time.limit(
          work,
          this.#calls,
          (reason) => this.stop(reason),
          (err) => this.#failureOf(tool, err)
        )
    } catch (err) {
      throw this.#failureOf(tool, err)
    }
    // It may have ended its run, and caught the error.
    guard.check()
    return work
  }

  // Why a tool has no result, for the model; logs it unless the call was stopped, or the tool refused.
  #failureOf(tool: Tool, err: unknown): unknown {
    if (this.#stopped !== undefined && err === this.#stopped.reason) return err
    const { toolCallId } = this.#call
    if (!isRefusal(err))
      this.#calls.context.log.warn({ err: toLoggable(err), toolName: tool.name, toolCallId }, 'tool failed')
    return isExposed(err) ? err : new RUN_ERR_TOOL_FAILED(messageOf(err, 'The tool failed'))
  }
}

function requireArgs(validated: Validated): unknown {
  if (validated.fault !== undefined) throw new RUN_ERR_TOOL_BAD_ARGS(validated.fault)
  return validated.value
}

function requireResult(validated: Validated): unknown {
  if (validated.fault !== undefined) throw new RUN_ERR_TOOL_BAD_OUTPUT(validated.fault)
  return validated.value
}

// True for a deliberate refusal by the tool, and for a failure of the model's own program.
function isRefusal(err: unknown): boolean {
  return isExposed(err) && ((err.statusCode ?? 500) < 500 || isProgramCode(err.code))
}
