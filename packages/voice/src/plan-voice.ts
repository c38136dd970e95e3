import { requireName, requireOptions, type RunnableMetadata } from '@svc/contract'
import { nameOf, prefixErrors } from '@svc/runtime/loop'
import type { CallPlan, SpokenTools } from './call/call-scope.ts'
import { toWord } from './call/questions.ts'
import { fvad } from './detect/fvad.ts'
import { resolveCallModels } from './engines/cascade/call-models.ts'
import { cascadeEngine } from './engines/cascade/cascade.ts'
import { realtimeEngine } from './engines/realtime/realtime.ts'
import { planRealtime } from './engines/realtime/realtime-plan.ts'
import { VOICE_ERR_BAD_OPTION } from './errors.ts'
import {
  CascadeOptionsSchema,
  RealtimeOptionsSchema,
  type CascadeOptions,
  type RealtimeOptions,
  type SpokenToolOptions,
  type VoiceAgentOptions
} from './voice-options.ts'

/** What the calls of an agent have in common, made once from its options. */
export interface VoicePlan extends CallPlan {
  readonly details: Partial<RunnableMetadata>
}

/**
 * Checks the options of a voice agent and plans its calls.
 * @throws VOICE_ERR_BAD_OPTION, RUN_ERR_BAD_AGENT, RUN_ERR_BAD_MODEL, RUN_ERR_BAD_SANDBOX, REG_ERR_BAD_NAME, which name the agent
 */
export function planVoice(options: VoiceAgentOptions): VoicePlan {
  return prefixErrors(nameOf('voice agent', options), () => {
    const { answer, model } = (options ?? {}) as { answer?: unknown; model?: unknown }
    if ((answer === undefined) === (model === undefined))
      throw new VOICE_ERR_BAD_OPTION('give either answer, with listen and speak, or model')
    return model === undefined ? toCascade(options as CascadeOptions) : toRealtime(options as RealtimeOptions)
  })
}

function toCascade(options: CascadeOptions): VoicePlan {
  requireOptions(CascadeOptionsSchema, options, VOICE_ERR_BAD_OPTION)
  const { answer, voice, language, turns = {}, timeout = {} } = options
  const { detect = fvad(), end, threshold = 0.5, silence = 500, maxSilence = 3_000, prefix = 300 } = turns
  return {
    ...planCalls(options, options.tools),
    toolNames: answer.toolNames,
    toolsVary: answer.toolsVary === true,
    details: { voice: 'cascade', members: [answer.name] },
    open: cascadeEngine({
      ...{ answer, voice, language },
      detector: detect,
      turnDetector: end,
      endpoint: {
        ...{ detect: true, threshold, silence, prefix, interruptAfter: interruptAfter(options) },
        maxSilence: Math.max(maxSilence, silence)
      },
      resolveModels: resolveCallModels(options, {
        transcription: timeout.transcription ?? 15_000,
        speech: timeout.speech ?? 15_000
      })
    })
  }
}

function toRealtime(options: RealtimeOptions): VoicePlan {
  requireOptions(RealtimeOptionsSchema, options, VOICE_ERR_BAD_OPTION)
  const { description: _d, register: _r, registry: _y, replace: _p, greeting: _g, ...more } = options
  const { idle: _i, record: _e, spoken, turns = {}, timeout = {}, ...own } = more
  const { threshold = 0.5, silence = 500, prefix = 300 } = turns
  const { transcription = 15_000, response = 15_000, connect = 15_000, session = 3_300_000 } = timeout
  const plan = planRealtime({
    ...own,
    turns: { threshold, silence, prefix, interruptAfter: interruptAfter(options) },
    times: { transcription, response, connect, session }
  })
  return {
    ...planCalls(options, spoken),
    toolNames: plan.agent.tools?.names,
    toolsVary: plan.agent.tools === undefined,
    details: { voice: 'realtime' },
    open: realtimeEngine(plan)
  }
}

function interruptAfter({ turns = {} }: VoiceAgentOptions): number {
  const { interrupt } = turns
  return (interrupt === false ? undefined : interrupt?.after) ?? 200
}

function planCalls(
  { name, greeting, turns = {}, idle = 60_000, timeout = {}, record = false }: VoiceAgentOptions,
  tools: SpokenToolOptions | undefined
): Omit<CallPlan, 'open' | 'toolNames' | 'toolsVary'> {
  const { interrupt = {} } = turns
  return {
    name: requireName(name),
    greeting,
    interrupt:
      interrupt === false ? undefined : { words: interrupt.words ?? 0, resume: interrupt.resume ?? 2_000 },
    tools: planTools(tools),
    idle,
    timeout: timeout.call ?? 3_600_000,
    record
  }
}

function planTools({
  filler,
  fillerAfter = 800,
  question = ({ toolName }) => `May I use ${toolName.replaceAll(/[_-]/g, ' ')}? Please say yes or no.`,
  yes = ['yes'],
  no = ['no']
}: SpokenToolOptions = {}): SpokenTools {
  return { filler, fillerAfter, question, yes: new Set(yes.map(toWord)), no: new Set(no.map(toWord)) }
}
