import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { SessionStore } from '@svc/registry'
import type { ApprovalPolicy } from '../approvals/approval-policy.ts'
import type { UrlOptions } from '../files/allowed-url.ts'
import type { Memory } from '../memory/memory.ts'
import type { Model, ModelFunction } from '../models/model.ts'
import type { Retry } from '../models/retry-model.ts'
import type { HistoryLimits } from '../sessions/history.ts'
import type { SandboxChoice } from '../sandbox/resolve-sandbox.ts'
import type { BaseOptions } from '../runnables/base-runnable.ts'
import type { Schema } from '../schemas/schema.ts'
import type { Skill } from '../skills/skill.ts'
import type { Tool } from '../tools/define-tool.ts'
import type { Instructions } from './agent-plan.ts'
import type { Timeouts } from '../guards/run-guard.ts'

/** What can be set of every model call; see `LanguageModelV4CallOptions` of `@ai-sdk/provider`. */
export type ModelSettings = Pick<
  LanguageModelV4CallOptions,
  | 'maxOutputTokens'
  | 'temperature'
  | 'topP'
  | 'topK'
  | 'presencePenalty'
  | 'frequencyPenalty'
  | 'stopSequences'
  | 'seed'
  | 'reasoning'
  | 'providerOptions'
>

/** What an agent is made from. Times are milliseconds. */
export interface AgentOptions<Output extends Schema = Schema> extends BaseOptions {
  /** What the model is told to be; never shown to clients. */
  instructions?: Instructions
  /** A model of the AI SDK, or a function that makes the one of each run, e.g. with the caller's own key. */
  model: Model | ModelFunction
  /** Whose key a model function gets as `apiKey`, e.g. `openai`; default: the caller's generic key. */
  provider?: string
  settings?: ModelSettings
  tools?: readonly Tool[]
  /** Which tool calls wait for an approval; default `never`. A tool's own `approval` goes before it. */
  approval?: ApprovalPolicy
  /** Until an approval that nobody answers counts as denied; default 300,000. A tool's own `approvalTimeout` goes before it. */
  approvalTimeout?: number
  /**
   * Where its tools run code that is given as text, unless they have a sandbox of their own; default: the shared one.
   * With `required`, the agent is not made when one of its tools has a sandbox that the system does not confine.
   */
  sandbox?: SandboxChoice
  /** Where conversations are kept; default: the app's store. */
  sessions?: SessionStore
  /** Default: the newest 50 messages, with no bound of tokens. */
  history?: Partial<HistoryLimits>
  /** What it remembers beyond its history; default: nothing. */
  memory?: Memory
  /** What it knows how to do, told to the model when it asks; see `loadSkills`. */
  skills?: readonly Skill[]
  /** The schema of its answers. They are JSON then, and `structured` is the validated and transformed value. */
  output?: Output
  /** Which URLs of an input are fetched, and how; default: of the public internet, 20 MiB, 20,000 milliseconds. */
  urls?: Partial<UrlOptions>
  /** Of transient failures before the first token; default 3 attempts, 500 base, 30,000 at most. */
  retry?: Partial<Retry>
  /** Default: 60,000 to the first token, 60,000 between tokens, 600,000 for the run. */
  timeout?: Partial<Timeouts>
  /** Model calls of one run; default 10. The run then ends with `max-steps`. */
  maxSteps?: number
}
