import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { defined, type SessionStore, type ToolChoice } from '@svc/contract'
import type { ApprovalPolicy } from '../approvals/approval-manager.ts'
import { InstructionWatch } from '../context/instruction-watch.ts'
import type { Situation } from '../context/situation.ts'
import { URL_DEFAULTS, type UrlOptions } from '../files/urls.ts'
import type { Cache } from '../models/cache-marks.ts'
import { resolveModel, type ResolveModel } from '../models/model.ts'
import { RETRY_DEFAULTS, type Retry } from '../models/call-report.ts'
import type { OutputFormat } from '../output/output-format.ts'
import type { SandboxChoice } from '../sandbox/resolve-sandbox.ts'
import { planHistory, type HistoryPlan } from '../sessions/history.ts'
import type { AgentTool } from '../tools/tool-set.ts'
import { MAX_STEPS, type Instructions, type ModelOptions } from './model-options.ts'
import type { PrepareStep, StopCondition } from '../sessions/to-prompt.ts'

/** The plan that all runs of an agent or a leader share. */
export interface LoopPlan {
  readonly instructions: Instructions | undefined
  /** Of instructions that are a function. */
  readonly instructionWatch: InstructionWatch | undefined
  readonly situation: Situation | undefined
  readonly resolveModel: ResolveModel
  readonly settings: Omit<LanguageModelV4CallOptions, 'prompt' | 'abortSignal' | 'tools' | 'toolChoice'>
  /** Default: the sessions of the run's context. */
  readonly sessions: SessionStore | undefined
  readonly history: HistoryPlan
  readonly cache: Cache
  readonly urls: UrlOptions
  readonly retry: Retry
  readonly maxSteps: number
  readonly toolCallDeltas: boolean
  readonly stopWhen: readonly StopCondition[]
  readonly prepareStep: PrepareStep | undefined
  /** Tools that every step has, whatever `tools` of `prepareStep` replaces. */
  readonly fixedTools: readonly AgentTool[]
  readonly toolChoice: ToolChoice | undefined
  readonly output: OutputFormat | undefined
  readonly approval: ApprovalPolicy
  readonly approvalTimeout: number | undefined
  readonly sandbox: SandboxChoice | undefined
}

type Control = Partial<
  Pick<
    LoopPlan,
    | 'stopWhen'
    | 'prepareStep'
    | 'fixedTools'
    | 'toolChoice'
    | 'output'
    | 'approval'
    | 'approvalTimeout'
    | 'sandbox'
  >
>

/** Plans a loop from checked options. @throws RUN_ERR_BAD_MODEL, or the error `toError` makes for `provider` */
export function planLoop(
  options: ModelOptions,
  {
    stopWhen = [],
    prepareStep,
    fixedTools = [],
    toolChoice,
    output,
    approval = 'never',
    approvalTimeout,
    sandbox
  }: Control,
  toError: (fault: string) => Error
): LoopPlan {
  if (options.provider !== undefined && typeof options.model !== 'function')
    throw toError('provider: only a model function gets the key of a provider')
  return {
    instructions: options.instructions,
    instructionWatch: typeof options.instructions === 'function' ? new InstructionWatch() : undefined,
    situation: options.situation,
    resolveModel: resolveModel(options.model, options.provider),
    settings: { ...options.settings, ...defined({ responseFormat: output?.responseFormat }) },
    sessions: options.sessions,
    history: planHistory(options.history),
    cache: options.cache ?? 'auto',
    urls: { ...URL_DEFAULTS, ...options.urls },
    retry: { ...RETRY_DEFAULTS, ...options.retry },
    maxSteps: options.maxSteps ?? MAX_STEPS,
    toolCallDeltas: options.toolCallDeltas ?? false,
    stopWhen,
    prepareStep,
    fixedTools,
    toolChoice,
    output,
    approval,
    approvalTimeout,
    sandbox
  }
}
