import { Type, type TSchema } from '@sinclair/typebox'
import {
  millisecondsSchema,
  ToolChoiceSchema,
  WhenBusySchema,
  type Awaitable,
  type RunContext,
  type ToolChoice,
  type WhenBusy
} from '@svc/contract'
import type { ApprovalPolicy } from '../approvals/approval-manager.ts'
import { functionSchema, MODEL_OPTIONS, optional, strict, type ModelOptions } from '../loop/model-options.ts'
import type { PrepareStep, StopCondition } from '../loop/steps.ts'
import type { Memory } from '../memory/memory.ts'
import { BASE_OPTIONS, type BaseOptions } from '../runnables/base-runnable.ts'
import type { SandboxChoice } from '../sandbox/resolve-sandbox.ts'
import type { Schema } from '../schemas/compile-schema.ts'
import type { Skill } from '../skills/skill.ts'
import type { AgentTool } from '../tools/tool-set.ts'

/** Returns the tools of one run, e.g. by the caller's scopes. */
export type ToolsFunction = (context: RunContext) => Awaitable<readonly AgentTool[]>

/** The options of an agent. Times are milliseconds. */
export interface AgentOptions<
  Output extends Schema = Schema,
  Tools extends readonly AgentTool[] = readonly AgentTool[]
>
  extends BaseOptions, ModelOptions {
  /** A list, by which `toolCalls` of results are typed, or a function of the run. */
  tools?: Tools | ToolsFunction
  /** Which tools the model may or must call, in every step; default `auto`. */
  toolChoice?: ToolChoice
  /** Stops the run after a step with tool calls; of several conditions one suffices. `maxSteps` holds beside them. */
  stopWhen?: StopCondition | readonly StopCondition[]
  /** Changes a step before its model call: model, instructions, messages, tools, tool choice. */
  prepareStep?: PrepareStep
  /** Which tool calls wait for an approval; default `never`. A tool's own `approval` overrides it. */
  approval?: ApprovalPolicy
  /** Until an unanswered approval counts as denied; default 300,000. A tool's own `approvalTimeout` overrides it. */
  approvalTimeout?: number
  /**
   * Runs code given as text to tools without a sandbox of their own; default: the shared one. With `required`, tools whose
   * sandbox the system does not confine are refused.
   */
  sandbox?: SandboxChoice
  /** What it remembers beyond its history; default: nothing. */
  memory?: Memory
  /** Instructions the model loads by name; see `loadSkills`. */
  skills?: readonly Skill[]
  /**
   * Whether its runs survive a crash of the service, unless they end when their client disconnects; default true. It takes stores
   * that survive.
   */
  durable?: boolean
  /** What happens to a message while another run has the turn of its session; default `queue`. Callers may choose another. */
  whenBusy?: WhenBusy
  /** The schema of its answers. They are JSON then, and `structured` is the validated and transformed value. */
  output?: Output
}

export const AgentOptionsSchema = Type.Object(
  {
    ...BASE_OPTIONS,
    ...MODEL_OPTIONS,
    tools: optional(Type.Union([Type.Array(Type.Any()), functionSchema])),
    toolChoice: optional(ToolChoiceSchema),
    stopWhen: optional(Type.Union([functionSchema, Type.Array(functionSchema)])),
    prepareStep: optional(functionSchema),
    approval: optional(Type.Union([Type.Literal('always'), Type.Literal('never'), functionSchema])),
    approvalTimeout: optional(millisecondsSchema('Until an approval counts as denied; default 300,000')),
    memory: optional(Type.Object({ retrieve: functionSchema, store: functionSchema })),
    skills: optional(Type.Array(Type.Any())),
    whenBusy: optional(WhenBusySchema),
    durable: optional(Type.Boolean()),
    // Sandboxes and schemas have errors of their own.
    sandbox: optional(Type.Any()),
    output: optional(Type.Any())
  } satisfies Record<keyof AgentOptions, TSchema>,
  strict
)
