import type {
  LanguageModelV4,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolChoice
} from '@ai-sdk/provider'
import { Type } from '@sinclair/typebox'
import {
  isBlank,
  requireOptions,
  ToolChoiceSchema,
  type Awaitable,
  type FinishReason,
  type RunContext,
  type ToolChoice,
  type ToolError,
  type Usage
} from '@svc/contract'
import { prefixBadOptions, prefixedError } from '../checks/option-errors.ts'
import { RUN_ERR_BAD_AGENT } from '../errors.ts'
import type { EndListener } from '../guards/guard.ts'
import { isPlain } from '../json/json.ts'
import type { Model } from '../models/model.ts'
import { appendMessage, toVendorPrompt } from '../models/prompt-content.ts'
import type { ToolOutcome } from '../tool-calls/call-journal.ts'
import type { AgentTool, ToolSet } from '../tools/tool-set.ts'
import { optional, strict } from './model-options.ts'

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

const StepChangesSchema = Type.Object(
  {
    model: optional(Type.Any()),
    instructions: optional(Type.String()),
    messages: optional(Type.Array(Type.Object({ role: Type.String() }), { minItems: 1 })),
    tools: optional(Type.Array(Type.Any())),
    activeTools: optional(Type.Array(Type.String())),
    toolChoice: optional(ToolChoiceSchema)
  } satisfies Record<keyof StepChanges, unknown>,
  strict
)
const BadStep = prefixedError('prepareStep', RUN_ERR_BAD_AGENT)

/** Prepares a step and checks the changes; errors name the `subject`. @throws RUN_ERR_BAD_AGENT, the error of `prepareStep` */
export async function prepareChanges(
  subject: string,
  prepareStep: PrepareStep,
  state: StepState
): Promise<StepChanges | undefined> {
  return prefixBadOptions(subject, async () => {
    const changes = await prepareStep(state)
    if (changes === undefined) return undefined
    requireOptions(StepChangesSchema, changes, BadStep)
    return changes
  })
}

/** Makes sure that a step has the tool of its tool choice. @throws RUN_ERR_BAD_AGENT */
export function requireTool(tools: ToolSet, name: string): void {
  if (!tools.names.includes(name)) throw new BadStep(`toolChoice: the step has no tool "${name}"`)
}

/** Makes sure that a condition returned a boolean. @throws RUN_ERR_BAD_AGENT */
export function requireBoolean(subject: string, result: unknown): asserts result is boolean {
  if (typeof result === 'boolean') return
  requireOptions(Type.Boolean(), result, prefixedError(`${subject}: stopWhen`, RUN_ERR_BAD_AGENT))
}

/** Splits a prompt into its instructions, if any, and its other messages. */
export function splitSystem(
  prompt: LanguageModelV4Prompt
): [system: LanguageModelV4Message[], rest: LanguageModelV4Message[]] {
  const count = prompt[0]?.role === 'system' ? 1 : 0
  return [prompt.slice(0, count), prompt.slice(count)]
}

/** The prompt of a step, for the vendor of its model: that of its turn with the changes, and the messages that no session keeps. */
export function toStepPrompt(
  prompt: LanguageModelV4Prompt,
  provider: string,
  sections: readonly (string | undefined)[],
  tail: readonly LanguageModelV4Message[],
  { instructions, messages }: StepChanges = {}
): LanguageModelV4Prompt {
  if (instructions === undefined && messages === undefined && tail.length === 0)
    return toVendorPrompt(prompt, provider)
  const [system, rest] = splitSystem(prompt)
  const own =
    instructions === undefined
      ? system
      : [{ role: 'system' as const, content: joinSections([instructions, ...sections]) }]
  const step: LanguageModelV4Message[] = []
  for (const message of [...own, ...(messages ?? rest), ...tail]) appendMessage(step, message)
  return toVendorPrompt(step, provider)
}

/** The system prompt of its sections; empty without any. */
export function joinSections(sections: readonly (string | undefined)[]): string {
  return sections.filter((section) => section !== undefined && !isBlank(section)).join('\n\n')
}

/** Copies lists and plain objects at any depth; other objects, such as URLs and bytes, are shared. */
export function copyPlain<T>(value: T, finish: <Copy>(copy: Copy) => Copy = (copy) => copy): T {
  if (Array.isArray(value)) return finish(value.map((each: unknown) => copyPlain(each, finish))) as T
  if (!isPlain(value)) return value
  return finish(
    Object.fromEntries(Object.entries(value).map(([key, each]) => [key, copyPlain(each, finish)]))
  ) as T
}
