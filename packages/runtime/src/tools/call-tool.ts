import type { RunContext, ToolError } from '@svc/registry'
import type { RunGuard } from '../agents/run-guard.ts'
import { approve } from '../approvals/approval-manager.ts'
import type { ApprovalPolicy } from '../approvals/approval-policy.ts'
import {
  RUN_ERR_TOOL_BAD_ARGS,
  RUN_ERR_TOOL_FAILED,
  RUN_ERR_TOOL_TIMEOUT,
  RUN_ERR_TOOL_UNKNOWN,
  toToolError
} from '../errors.ts'
import type { RunEvents } from '../events/run-events.ts'
import type { ModelToolCall } from '../models/model-answer.ts'
import type { Tool, ToolContext } from './define-tool.ts'
import { contentOf, toReferences, type ToolContentPart } from './tool-content.ts'
import { messageOf, toToolOutput } from './tool-output.ts'
import type { ToolSet } from './tool-set.ts'

/** What every tool call of a run has in common. */
export interface ToolCalls {
  readonly tools: ToolSet
  readonly approval: ApprovalPolicy
  readonly context: RunContext
  readonly guard: RunGuard
  readonly events: RunEvents
}

/** What came of a tool call: a result, or an error that the model can mend. */
export interface ToolOutcome {
  readonly call: ModelToolCall
  /** What the tool was called with, when an approval edited the arguments. */
  readonly editedArgs?: unknown
  readonly result?: unknown
  /** What the model sees instead of the result, when it has more than text. */
  readonly content?: readonly ToolContentPart[]
  readonly error?: ToolError
  /** Milliseconds that the tool itself took; 0 when it was not called. */
  readonly durationMs: number
}

/**
 * Serves one tool call: validate → approve → execute. Whatever the tool does comes back as an outcome.
 * @throws why the run has to end, and nothing else
 */
export async function callTool(call: ModelToolCall, calls: ToolCalls): Promise<ToolOutcome> {
  const { toolCallId, toolName, args } = call
  const { events, guard } = calls
  events.emit('tool.call', () => ({ toolCallId, toolName, args }))
  const attempt = new ToolAttempt(call, calls)
  let outcome: ToolOutcome
  try {
    outcome = await attempt.run()
  } catch (err) {
    guard.check()
    outcome = { call, error: toToolError(err), durationMs: attempt.durationMs }
  }
  const { result, error, durationMs } = outcome
  if (error) events.emit('tool.error', () => ({ toolCallId, toolName, error, durationMs }))
  else events.emit('tool.result', () => ({ toolCallId, toolName, result, durationMs }))
  return outcome
}

class ToolAttempt {
  readonly #call: ModelToolCall
  readonly #calls: ToolCalls
  readonly #controller = new AbortController()
  #startedAt: number | undefined

  constructor(call: ModelToolCall, calls: ToolCalls) {
    this.#call = call
    this.#calls = calls
  }

  get durationMs(): number {
    if (this.#startedAt === undefined) return 0
    return Math.round((performance.now() - this.#startedAt) * 1000) / 1000
  }

  async run(): Promise<ToolOutcome> {
    const { approval, events, guard } = this.#calls
    const tool = this.#requireTool()
    const { args } = this.#call
    requireArgs(tool, args)
    const context = this.#context()
    const { args: approved, edited } = await guard.wait(approve(tool, args, context, approval, events))
    if (edited) requireArgs(tool, approved)
    const given = await this.#execute(tool, approved, context)
    const content = contentOf(given)
    const result = toToolOutput(content ? await toReferences(content) : given, tool.maxOutputBytes)
    return {
      call: this.#call,
      result,
      durationMs: this.durationMs,
      ...(content && { content }),
      ...(edited && { editedArgs: approved })
    }
  }

  #requireTool(): Tool {
    const { toolName, fault } = this.#call
    const { tools } = this.#calls
    const tool = tools.get(toolName)
    if (tool === undefined) {
      const known = tools.names.length === 0 ? 'there are none' : `there are ${tools.names.join(', ')}`
      throw new RUN_ERR_TOOL_UNKNOWN(`"${toolName.slice(0, 64)}"; ${known}`)
    }
    if (fault !== undefined) throw new RUN_ERR_TOOL_BAD_ARGS(fault)
    return tool
  }

  #context(): ToolContext {
    const { context } = this.#calls
    const { toolCallId } = this.#call
    return {
      signal: this.#controller.signal,
      principal: context.principal,
      sessionId: context.sessionId,
      runId: context.runId,
      log: context.log,
      toolCallId,
      idempotencyKey: `${context.idempotencyKey}:${toolCallId}`,
      context
    }
  }

  // A tool that goes on after its time is left to itself: its signal is aborted, and what it gives is dropped.
  async #execute(tool: Tool, args: unknown, context: ToolContext): Promise<unknown> {
    this.#startedAt = performance.now()
    const { promise: stopped, reject: stop } = Promise.withResolvers<never>()
    const end = (reason: unknown) => {
      stop(reason)
      this.#controller.abort(reason)
    }
    const timer = setTimeout(() => end(new RUN_ERR_TOOL_TIMEOUT(tool.timeout)), tool.timeout)
    const off = this.#calls.guard.onEnd(end)
    try {
      const work = Promise.resolve(tool.execute(args as never, context))
      return await Promise.race([work, stopped])
    } catch (err) {
      if (this.#controller.signal.aborted && err === this.#controller.signal.reason) throw err
      context.log.warn({ err, toolName: tool.name, toolCallId: context.toolCallId }, 'tool failed')
      throw new RUN_ERR_TOOL_FAILED(messageOf(err, 'The tool failed'))
    } finally {
      off()
      clearTimeout(timer)
    }
  }
}

function requireArgs(tool: Tool, args: unknown): void {
  const fault = tool.checkInput(args)
  if (fault !== undefined) throw new RUN_ERR_TOOL_BAD_ARGS(fault)
}
