import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { FinishReason, PartOf, Principal, RunContext, RunLog, RunnableKind } from '@svc/contract'
import type { MadeFile } from '@svc/registry/engine'
import type { RunGuard } from '../guards/guard.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { splitSystem } from '../context/step-prompt.ts'
import type { Tool, ToolContext } from '../tools/define-tool.ts'
import type { EmitPart, ToolCall } from './tool-outcome.ts'

/** The step that the calls of a model belong to. */
export interface CallingStep {
  readonly runnable: { readonly kind: RunnableKind; readonly name: string }
  readonly stepNumber: number
  /** What led to the calls, with its instructions. */
  readonly prompt: LanguageModelV4Prompt
  /** Ends the run after the step. */
  readonly stopRun: (finishReason: FinishReason) => void
}

/** What a question to the client says of the call. */
export interface CallPlace {
  readonly toolCallId: string
  readonly durable: boolean
}

/** A call under way, as the context of its tool needs it. */
export interface CallInProgress {
  readonly call: ToolCall
  readonly calls: {
    readonly context: RunContext
    readonly guard: RunGuard
    readonly step: CallingStep
    readonly emit: EmitPart
  }
  /** Aborts when the tool has to end. */
  readonly signal: AbortSignal
  /** The call must end before its tool has. */
  stop(reason: unknown): void
  /** Waits for the client. The wait ends with the call, and does not count as its time. */
  askClient<T>(ask: (asker: RunContext, place: CallPlace) => Promise<T>): Promise<T>
  /** Calls another tool as a part of this call. */
  callOther(tool: Tool, args: unknown, signal?: AbortSignal): Promise<unknown>
  /** Keeps a file of the call, and emits its part. */
  keepFile(file: Omit<MadeFile, 'toolCallId'>): Promise<PartOf<'file'>>
}

/** What a tool sees of its call. Its functions work without it, and most of what it has is made when the tool reads it. */
export class CallContext implements ToolContext {
  readonly #call: CallInProgress
  readonly sandbox: Sandbox | undefined

  constructor(call: CallInProgress, sandbox: Sandbox | undefined) {
    this.#call = call
    this.sandbox = sandbox
  }

  get signal(): AbortSignal {
    return this.#call.signal
  }

  get context(): RunContext {
    return this.#call.calls.context
  }

  get principal(): Principal {
    return this.context.principal
  }

  get sessionId(): string {
    return this.context.sessionId
  }

  get runId(): string {
    return this.context.runId
  }

  get log(): RunLog {
    return this.context.log
  }

  get toolCallId(): string {
    return this.#call.call.toolCallId
  }

  get idempotencyKey(): string {
    return `${this.context.idempotencyKey}:${this.toolCallId}`
  }

  get runnable(): ToolContext['runnable'] {
    const { kind, name } = this.#call.calls.step.runnable
    return { kind, name }
  }

  get stepNumber(): number {
    return this.#call.calls.step.stepNumber
  }

  get messages(): ToolContext['messages'] {
    return splitSystem(this.#call.calls.step.prompt)[1]
  }

  get stopRun(): ToolContext['stopRun'] {
    return this.#call.calls.step.stopRun
  }

  get ask(): ToolContext['ask'] {
    return (question) => this.#call.askClient((asker, place) => asker.ask({ ...question, ...place }))
  }

  get requestCredentials(): ToolContext['requestCredentials'] {
    return (request) =>
      this.#call.askClient((asker, place) => asker.requestCredentials({ ...request, ...place }))
  }

  get callClient(): ToolContext['callClient'] {
    return (call) => this.#call.askClient((asker, place) => asker.callClient({ ...call, ...place }))
  }

  get callTool(): ToolContext['callTool'] {
    return (tool, args, signal) => this.#call.callOther(tool, args, signal)
  }

  get emit(): ToolContext['emit'] {
    return (part) => this.#call.calls.emit(part)
  }

  get keepFile(): ToolContext['keepFile'] {
    return (file) => this.#call.keepFile(file)
  }

  get onEnd(): ToolContext['onEnd'] {
    return (listener) => this.#call.calls.guard.onRelease(listener)
  }

  get failRun(): ToolContext['failRun'] {
    return (error) => {
      this.#call.calls.guard.end(error)
      this.#call.stop(error)
      throw error
    }
  }
}
