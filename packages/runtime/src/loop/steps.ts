import type { LanguageModelV4, LanguageModelV4Message, LanguageModelV4ToolChoice } from '@ai-sdk/provider'
import { Type } from '@sinclair/typebox'
import {
  requireOptions,
  type Awaitable,
  type FinishReason,
  type RunContext,
  type ToolChoice,
  type ToolError,
  type Usage
} from '@svc/contract'
import { prefixedError } from '../checks/option-errors.ts'
import { RUN_ERR_BAD_AGENT } from '../errors.ts'
import type { EndListener } from '../guards/guard.ts'
import type { Model } from '../models/model.ts'
import type { ToolOutcome } from '../tool-calls/call-journal.ts'
import type { AgentTool } from '../tools/tool-set.ts'

/** One step of a run so far: a model call, and the tool calls it led to. */
export interface StepResult {
  readonly stepNumber: number
  readonly text: string
  readonly toolCalls: readonly StepToolCall[]
  readonly finishReason: FinishReason | 'tool-calls'
  /** Undefined where the provider did not report it. */
  readonly usage: Usage | undefined
}

/** A tool call of a step, with its result or error. */
export interface StepToolCall {
  readonly toolCallId: string
  readonly toolName: string
  readonly args: unknown
  readonly result?: unknown
  readonly error?: ToolError
}

/** Decides after a step with tool calls whether the run stops there. The steps are frozen copies. */
export type StopCondition = (state: { readonly steps: readonly StepResult[] }) => Awaitable<boolean>

/** Stops after so many steps. @throws RUN_ERR_BAD_AGENT unless `count` is an integer of at least 1 */
export function stepCountIs(count: number): StopCondition {
  requireOptions(Type.Integer({ minimum: 1 }), count, prefixedError('stepCountIs', RUN_ERR_BAD_AGENT))
  return ({ steps }) => steps.length >= count
}

/** Stops after a step that called the tool. @throws RUN_ERR_BAD_AGENT for an empty name */
export function hasToolCall(toolName: string): StopCondition {
  requireOptions(Type.String({ minLength: 1 }), toolName, prefixedError('hasToolCall', RUN_ERR_BAD_AGENT))
  return ({ steps }) => steps.at(-1)?.toolCalls.some((call) => call.toolName === toolName) ?? false
}

/** A message of a prompt; see `LanguageModelV4Message` of `@ai-sdk/provider`. */
export type PromptMessage = LanguageModelV4Message

/** The step that is about to begin. */
export interface StepState {
  readonly stepNumber: number
  /** Frozen copies. */
  readonly steps: readonly StepResult[]
  readonly model: LanguageModelV4
  /** A copy of the prompt without its instructions. */
  readonly messages: readonly PromptMessage[]
  readonly context: RunContext
  /** True if an earlier process made the model call: the changes decide only what the calls of the step may use. */
  readonly isReplayed: boolean
  /** As in `ToolContext`. */
  onEnd(listener: EndListener): () => void
}

/** Changes for one step; the default is the agent's own. */
export interface StepChanges {
  model?: Model
  instructions?: string
  /** Replaces the messages of the prompt. */
  messages?: readonly PromptMessage[]
  /** Replaces the agent's own tools; the model can still load skills. */
  tools?: readonly AgentTool[]
  /** The names of the tools the model sees. */
  activeTools?: readonly string[]
  toolChoice?: ToolChoice
}

/** Prepares each step before its model call. */
export type PrepareStep = (state: StepState) => Awaitable<StepChanges | undefined | void>

/** A choice as providers take it. */
export function toModelChoice(choice: ToolChoice): LanguageModelV4ToolChoice {
  return typeof choice === 'string' ? { type: choice } : { type: 'tool', toolName: choice.toolName }
}

/** A served tool call as conditions and `prepareStep` see it. */
export function toStepCall({
  call,
  editedArgs,
  result,
  error
}: Pick<ToolOutcome, 'call' | 'editedArgs' | 'result' | 'error'>): StepToolCall {
  const { toolCallId, toolName, args } = call
  return { toolCallId, toolName, args: editedArgs ?? args, ...(error === undefined ? { result } : { error }) }
}
