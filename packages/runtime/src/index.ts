export { RUN_ERR_REJECTED, type ToolChoice } from '@svc/contract'
export { default, type RuntimePluginOptions } from './plugin.ts'

export { Agent } from './agents/agent.ts'
export type { AgentOptions, ToolsFunction } from './agents/agent-options.ts'
export type { Instructions, ModelOptions, ModelSettings } from './loop/model-options.ts'
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
} from './loop/steps.ts'
export type { Timeouts } from './guards/run-guard.ts'
export type { ApprovalPolicy } from './approvals/approval-policy.ts'
export type { UrlOptions } from './files/allowed-url.ts'
export type { Model, ModelFunction, ModelRequest } from './models/model.ts'
export type { Retry } from './models/retry-model.ts'
export type { HistoryLimits } from './sessions/history.ts'
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
export type * from './workflows/step-options.ts'
export type {
  GivenInput,
  InputOf,
  LastOutput,
  NewFlow,
  WorkflowOptions
} from './workflows/workflow-options.ts'
export { Workflow, type WorkflowStructured } from './workflows/workflow.ts'
export type { ArgsOf, JsonSchema, Schema, SchemaInput, SchemaOutput } from './schemas/schema.ts'
export type {
  BaseOptions,
  BaseRunnable,
  DeclaredOutput,
  OutputSchema,
  StructuredOf
} from './runnables/base-runnable.ts'
export type { RunStream, TypedRunResult } from './runnables/run-stream.ts'
export type { RunOptions } from './runnables/run-options.ts'
export { quickJsSandbox } from './sandbox/quickjs-sandbox.ts'
export type { SandboxChoice } from './sandbox/resolve-sandbox.ts'
export type {
  HostTool,
  Sandbox,
  SandboxDescription,
  SandboxLimits,
  SandboxOutcome,
  SandboxRun
} from './sandbox/sandbox.ts'
export type { QuickJsSandboxOptions } from './sandbox/sandbox-options.ts'
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
export type { FromJson } from './json/to-json.ts'
export type { ToolCallOf, TypedToolCall } from './tools/typed-calls.ts'
export type { AgentTool, ProviderTool } from './tools/tool-set.ts'
export {
  toolContent,
  type ReferencedContent,
  type ToolContent,
  type ToolContentPart
} from './tools/tool-content.ts'

export type { EmbeddingModel } from './memory/embed.ts'
export { extractFacts } from './memory/extract-facts.ts'
export type { Memory, MemoryContext, MemoryTurn } from './memory/memory.ts'
export { recallMemory, type ExtractFacts, type RecallMemoryOptions } from './memory/recall-memory.ts'
export { summaryMemory, type SummaryMemoryOptions } from './memory/summary-memory.ts'
export { windowMemory, type WindowMemoryOptions } from './memory/window-memory.ts'

export { learnSkill, type LearnSkillOptions } from './skills/learn-skill.ts'
export { loadSkills } from './skills/load-skills.ts'
export { saveSkill } from './skills/save-skill.ts'
export { defineSkill, type Skill } from './skills/skill.ts'

export { connectMcp, type McpServer } from './mcp/connect-mcp.ts'
export type { McpClient, McpConnection, McpTool } from './mcp/mcp-client.ts'
export { mcpTools, type McpToolsOptions } from './mcp/mcp-tools.ts'

export { EVENT_SCHEMAS, type RuntimeEvents } from './events/events.ts'
export type { MetricProvider, SpanProvider, TelemetryOptions } from './events/telemetry-options.ts'
export { traceEvents } from './events/trace-events.ts'
export { channelName } from '@svc/registry'
export { defaultEvents as events } from '@svc/registry/engine'
export * from './errors.ts'
