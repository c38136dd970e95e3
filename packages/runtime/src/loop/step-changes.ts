import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'
import { Type } from '@sinclair/typebox'
import { ToolChoiceSchema, isBlank, requireOptions } from '@svc/contract'
import { prefixBadOptions, prefixedError } from '../checks/option-errors.ts'
import { RUN_ERR_BAD_AGENT } from '../errors.ts'
import { isPlain } from '../json/json.ts'
import { appendMessage } from '../models/append-message.ts'
import { toVendorPrompt } from '../models/vendor-prompt.ts'
import type { ToolSet } from '../tools/tool-set.ts'
import { optional, strict } from './model-options.ts'
import type { PrepareStep, StepChanges, StepState } from './steps.ts'

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
