export type { ToolChoice } from '@svc/contract'
/** TypeBox's: what makes the schemas of tools, inputs and outputs. */
export { Type, type Static } from '@sinclair/typebox'
export { default, type RuntimePluginOptions } from './plugin.ts'

export { Agent, type AgentOptions, type ToolsFunction } from './agents/agent.ts'
export { estimateTokens, type EstimateOptions } from './context/estimate-tokens.ts'
export type { Situation } from './context/situation.ts'
export type { Instructions, ModelOptions, ModelSettings } from './loop/model-options.ts'
export type { Cache, CacheOptions } from './models/cache-marks.ts'
export {
  hasToolCall,
  stepCountIs,
  type PrepareStep,
  type PromptMessage,
  type StepChanges,
  type StepResult,
  type StepState,
  type StepToolCall,
  type StopCondition
} from './sessions/to-prompt.ts'
export { guard, type GuardOptions, type GuardState, type Verdict } from './middleware/guard.ts'
export type {
  Block,
  GuardPoint,
  HookState,
  MessageState,
  Middleware,
  TextHold,
  TextHook,
  TextState
} from './middleware/middleware.ts'
export type { Timeouts } from './guards/guard.ts'
export type { ApprovalPolicy } from './approvals/approval-manager.ts'
export type { UrlOptions } from './files/urls.ts'
export type { Model, ModelFunction, ModelRequest } from './models/model.ts'
export type { Retry } from './models/call-report.ts'
export type { CompactOptions, HistoryOptions } from './sessions/history.ts'
export { Team, type TeamOutput, type TeamStructured } from './teams/team.ts'
export type {
  LeaderOptions,
  Member,
  MemberAnswer,
  Merge,
  TeamBaseOptions,
  TeamMode,
  TeamOptions
} from './teams/team-options.ts'
export type { Flow } from './workflows/flow.ts'
export type * from './workflows/flow.ts'
export type { GivenInput, InputOf, LastOutput, NewFlow, WorkflowOptions } from './workflows/plan-workflow.ts'
export { Workflow, type WorkflowStructured } from './workflows/workflow.ts'
export type { ArgsOf, JsonSchema, Schema, SchemaInput, SchemaOutput } from './schemas/compile-schema.ts'
export type {
  BaseOptions,
  BaseRunnable,
  DeclaredOutput,
  OutputSchema,
  RunOptions,
  StructuredOf
} from './runnables/base-runnable.ts'
export type { ObjectSoFar } from './output/read-objects.ts'
export type { RunStream, TypedRunResult } from './runnables/run-stream.ts'
export { quickJsSandbox } from './sandbox/quickjs-sandbox.ts'
export type { SandboxChoice } from './sandbox/resolve-sandbox.ts'
export type {
  HostTool,
  QuickJsSandboxOptions,
  Sandbox,
  SandboxDescription,
  SandboxLimits,
  SandboxOutcome,
  SandboxRun
} from './sandbox/sandbox.ts'
export { codeTool, type CodeToolOptions } from './tools/code-tool.ts'
export {
  defineTool,
  type ResultOf,
  type Tool,
  type ToolContext,
  type ToolDefinition,
  type ToolOutput,
  type ToolSchemas,
  type ToolSettings
} from './tools/define-tool.ts'
export type { FromJson } from './json/json.ts'
export type { ToolCallOf, TypedToolCall } from './tools/typed-calls.ts'
export type { AgentTool, ProviderTool } from './tools/tool-set.ts'
export {
  toolContent,
  type ReferencedContent,
  type ToolContent,
  type ToolContentPart
} from './tool-calls/tool-outcome.ts'

export type { EmbeddingModel } from './memory/embedding-model.ts'
export { recallMemory, type ExtractFacts, type RecallMemoryOptions } from './memory/recall-memory.ts'
export { extractFacts } from './memory/extract-facts.ts'
export type { Memory, MemoryContext, MemoryTurn } from './memory/memory.ts'
export { windowMemory, type WindowMemoryOptions } from './memory/window-memory.ts'

export { learnSkill, saveSkill, type LearnSkillOptions } from './skills/learn-skill.ts'
export { loadSkills } from './skills/load-skills.ts'
export { defineSkill, type Skill } from './skills/skill-set.ts'

export {
  connectMcp,
  type McpClient,
  type McpConnection,
  type McpServer,
  type McpTool
} from './mcp/connect-mcp.ts'
export { mcpTools, type McpToolsOptions } from './mcp/mcp-tools.ts'

export {
  EVENT_SCHEMAS,
  type MetricProvider,
  type RuntimeEvents,
  type SpanProvider,
  type TelemetryOptions
} from './events/events.ts'
export { traceEvents } from './events/trace-events.ts'
export { channelName } from '@svc/registry'
export { defaultEvents as events } from '@svc/registry/engine'
export * as errors from './errors.ts'
