import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { Awaitable, RunContext, SessionStore } from '@svc/registry'
import type { ApprovalPolicy } from '../approvals/approval-policy.ts'
import type { UrlOptions } from '../files/allowed-url.ts'
import type { Memory } from '../memory/memory.ts'
import type { ResolveModel } from '../models/model.ts'
import type { Retry } from '../models/retry-model.ts'
import type { HistoryLimits } from '../sessions/history.ts'
import type { SandboxChoice } from '../sandbox/resolve-sandbox.ts'
import type { OutputFormat } from '../output/output-format.ts'
import type { SkillSet } from '../skills/skill-set.ts'
import type { ToolSet } from '../tools/tool-set.ts'
import type { Timeouts } from '../guards/run-guard.ts'

/** What an agent tells its model to be: a text, or a function of the run that gives one. */
export type Instructions = string | ((context: RunContext) => Awaitable<string>)

/** What the runs of an agent have in common, made once from its options. */
export interface AgentPlan {
  readonly name: string
  readonly instructions: Instructions | undefined
  readonly resolveModel: ResolveModel
  /** Settings and tools, as every model call gets them. */
  readonly callOptions: Omit<LanguageModelV4CallOptions, 'prompt' | 'abortSignal'>
  readonly tools: ToolSet
  readonly approval: ApprovalPolicy
  readonly approvalTimeout: number | undefined
  readonly sandbox: SandboxChoice | undefined
  /** Default: those of the run's context. */
  readonly sessions: SessionStore | undefined
  readonly history: HistoryLimits
  readonly memory: Memory | undefined
  readonly skills: SkillSet | undefined
  readonly output: OutputFormat | undefined
  readonly urls: UrlOptions
  readonly retry: Retry
  readonly timeout: Timeouts
  readonly maxSteps: number
}
