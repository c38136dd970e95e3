import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { Awaitable, ClientTool, RunContext, VoiceSettings } from '@svc/contract'
import { errors, type AgentOptions, type Model } from '@svc/runtime'
import { planAgent, type AgentPlan, type ToolSet } from '@svc/runtime/loop'
import type { SessionConfig, SessionTool, SessionTurnDetection } from './events.ts'
import { resolveRealtimeModel, type RealtimeModel, type RealtimeModelFunction } from './realtime-codec.ts'
import type { ConnectionTimes } from './upstream.ts'

/** How a realtime model finds the turns of the user, unless the client chooses otherwise. Times are milliseconds. */
export interface RealtimeTurns {
  readonly threshold: number
  readonly silence: number
  readonly prefix: number
  /** Speech that interrupts an answer. */
  readonly interruptAfter: number
}

/** The options of an agent that realtime agents have too. */
export type AnsweringOptions = Pick<
  AgentOptions,
  | 'instructions'
  | 'provider'
  | 'tools'
  | 'toolChoice'
  | 'approval'
  | 'approvalTimeout'
  | 'sandbox'
  | 'sessions'
  | 'history'
  | 'maxSteps'
  | 'retry'
>

/** The options of the engine: those that an agent has too, and its own. */
export interface RealtimeEngineOptions extends AnsweringOptions, Pick<AgentOptions, 'name'> {
  readonly model: RealtimeModel | RealtimeModelFunction
  readonly voice?: string | undefined
  /** BCP 47; default: the model detects it. */
  readonly language?: string | undefined
  readonly turns: RealtimeTurns
  readonly times: ConnectionTimes & {
    /** Until the words of a turn are complete. */
    readonly transcription: number
    /** Until the next token of a response. */
    readonly response: number
  }
  /** By the name of the provider. */
  readonly providerOptions?: Readonly<Record<string, unknown>> | undefined
}

/** What the calls of a realtime agent have in common. */
export interface RealtimePlan extends Pick<
  RealtimeEngineOptions,
  'voice' | 'language' | 'turns' | 'times' | 'providerOptions'
> {
  /** Answers the turns; each call adds its model. */
  readonly agent: AgentPlan
  readonly resolveModel: (context: RunContext) => Awaitable<RealtimeModel>
}

/** Checks the options of the engine. @throws RUN_ERR_BAD_AGENT, RUN_ERR_BAD_MODEL, RUN_ERR_BAD_SANDBOX, REG_ERR_BAD_NAME */
export function planRealtime(options: RealtimeEngineOptions): RealtimePlan {
  const { model, voice, language, turns, times, providerOptions, provider, ...own } = options
  if (provider !== undefined && typeof model !== 'function')
    throw new errors.RUN_ERR_BAD_AGENT('provider: only a model function gets the key of a provider')
  const resolveModel = resolveRealtimeModel(model, provider)
  const timeout = { firstToken: times.response, betweenTokens: times.response }
  const plan = planAgent({ ...own, timeout, model: PLACEHOLDER })
  if (plan.tools !== undefined) requireFunctions(plan.tools)
  const toolsOf = async (context: RunContext) => requireFunctions(await plan.toolsOf(context))
  const agent = plan.tools === undefined ? { ...plan, toolsOf } : plan
  return { agent, resolveModel, voice, language, turns, times, providerOptions }
}

// Realtime sessions have functions only; what a provider executes itself is in `providerOptions`.
function requireFunctions(tools: ToolSet): ToolSet {
  const other = tools.forModel?.find(({ type }) => type !== 'function')
  if (other !== undefined)
    throw new errors.RUN_ERR_BAD_AGENT(
      `tools: a realtime model takes functions; put "${other.name}" in providerOptions`
    )
  return tools
}

// Each call has a model of its own.
const PLACEHOLDER: Model = {
  specificationVersion: 'v4',
  provider: 'realtime',
  modelId: 'realtime',
  supportedUrls: {},
  doGenerate: () => Promise.reject(new errors.RUN_ERR_BAD_AGENT('model: the call has none yet')),
  doStream: () => Promise.reject(new errors.RUN_ERR_BAD_AGENT('model: the call has none yet'))
}

/** The briefing before the first turn. @throws the error of a function of the app */
export async function briefFirst(
  { agent }: RealtimePlan,
  context: RunContext,
  settings: VoiceSettings
): Promise<Briefing> {
  const { instructions } = agent
  const { instructions: chosen, tools } = callerOf(context, settings)
  const own = typeof instructions === 'function' ? await instructions(context) : instructions
  const set = await agent.toolsOf(context)
  return {
    instructions: [own, chosen].filter(Boolean).join('\n\n'),
    tools: [...(set.forModel ?? []).flatMap(toSessionTool), ...tools.map(toClientTool)]
  }
}

/** What the client of a call gives its turns: what it chose, else what it began the run with. */
export function callerOf(
  { instructions, clientTools }: RunContext,
  settings: VoiceSettings
): { readonly instructions: string | undefined; readonly tools: readonly ClientTool[] } {
  return { instructions: settings.instructions ?? instructions, tools: settings.tools ?? clientTools }
}

/** The briefing in a step of a turn. */
export function briefStep({ prompt, tools = [] }: LanguageModelV4CallOptions): Briefing {
  const system = prompt.flatMap((message) => (message.role === 'system' ? [message.content] : []))
  return { instructions: system.join('\n\n'), tools: tools.flatMap(toSessionTool) }
}

function toSessionTool(tool: NonNullable<LanguageModelV4CallOptions['tools']>[number]): SessionTool[] {
  if (tool.type !== 'function') return []
  const { name, description, inputSchema: parameters } = tool
  return [{ type: 'function', name, ...(description !== undefined && { description }), parameters }]
}

function toClientTool({ name, description, input }: ClientTool): SessionTool {
  return { type: 'function', name, description, parameters: input }
}

/** Hz of the audio in both directions: what all providers take. */
export const RATE = 24_000

const AUDIO = { type: 'audio/pcm', rate: RATE } as const

/** The instructions and tools of a session. */
export interface Briefing {
  readonly instructions: string
  readonly tools: readonly SessionTool[]
}

/** The settings of a session: the agent's, with what the client chose. */
export function toSessionConfig(
  plan: RealtimePlan,
  settings: VoiceSettings,
  { instructions, tools }: Briefing
): SessionConfig {
  const { language, providerOptions } = plan
  const voice = settings.voice ?? plan.voice
  return {
    ...(instructions !== '' && { instructions }),
    ...(voice !== undefined && { voice }),
    outputModalities: [settings.modality ?? 'audio'],
    inputAudioFormat: AUDIO,
    outputAudioFormat: AUDIO,
    inputAudioTranscription: language === undefined ? {} : { language },
    outputAudioTranscription: {},
    turnDetection: toDetection(plan, settings),
    tools: [...tools],
    ...(providerOptions !== undefined && { providerOptions: { ...providerOptions } })
  }
}

function toDetection({ turns }: RealtimePlan, { turns: chosen = {} }: VoiceSettings): SessionTurnDetection {
  if (chosen.detect === false) return { type: 'disabled' }
  return {
    type: 'server-vad',
    threshold: chosen.threshold ?? turns.threshold,
    silenceDurationMs: chosen.silence ?? turns.silence,
    prefixPaddingMs: chosen.prefix ?? turns.prefix
  }
}
