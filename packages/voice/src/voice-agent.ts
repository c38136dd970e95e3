import {
  DEFAULT_AUDIO_FORMAT,
  durationOf,
  InputQueue,
  requireName,
  requireOptions,
  type AcceptedMessage,
  type ContentPart,
  type RunContext,
  type RunInput,
  type RunnableMetadata,
  type Usage,
  type VoiceInput,
  type VoiceLink,
  type VoiceOutput,
  type VoiceRunnable,
  type YieldedPart
} from '@svc/contract'
import { RUN_ERR_CANCELED, RUN_ERR_INPUT_NOT_FOUND } from '@svc/contract/errors'
import { requireInput } from '@svc/registry/engine'
import {
  awaiting,
  BaseRunnable,
  hasUrls,
  interleave,
  loadFiles,
  nameOf,
  PartChannel,
  prefixErrors,
  reportRun,
  resolveUrls,
  URL_DEFAULTS
} from '@svc/runtime/loop'
import { loadResampler } from './audio/resample.ts'
import type { CallPlan, FailingLink, SpokenTools } from './call/call-scope.ts'
import { Call, type CallHost } from './call/call.ts'
import { toWord } from './call/tool-watch.ts'
import { fvad } from './detect/fvad.ts'
import { cascadeEngine, type ResolveModels } from './engines/cascade/cascade.ts'
import type { EngineHost } from './engines/engine.ts'
import { planRealtime } from './engines/realtime/realtime-plan.ts'
import { realtimeEngine } from './engines/realtime/realtime.ts'
import { VOICE_ERR_BAD_MESSAGE, VOICE_ERR_BAD_OPTION } from './errors.ts'
import { liftSpeech } from './speech/lift-speech.ts'
import { liftTranscription } from './speech/lift-transcription.ts'
import { resolveVoiceModel, SPEECH, TRANSCRIPTION, type ModelReport } from './speech/model-calls.ts'
import {
  CascadeOptionsSchema,
  RealtimeOptionsSchema,
  type CascadeOptions,
  type RealtimeOptions,
  type SpokenToolOptions,
  type VoiceAgentOptions
} from './voice-options.ts'

type Turn = Extract<VoiceInput, { type: 'text' | 'file' }>

/**
 * Reads the turns of a message: its texts and audio files.
 * @throws RUN_ERR_BAD_INPUT, VOICE_ERR_BAD_MESSAGE for other content, RUN_ERR_URL_…
 */
async function readMessage(input: RunInput, { signal }: Pick<RunContext, 'signal'>): Promise<Turn[]> {
  requireInput({}, input)
  const message = await loadFiles(input as AcceptedMessage)
  if (typeof message === 'string') return [{ type: 'text', text: message }]
  const parts = hasUrls(message) ? await resolveUrls(message, () => false, URL_DEFAULTS, signal) : message
  return parts.map((part) => toTurn(part))
}

function toTurn(part: ContentPart): Turn {
  if (part.type === 'text') return { type: 'text', text: part.text }
  if (!('data' in part) || !/^audio\//i.test(part.mimeType)) throw new VOICE_ERR_BAD_MESSAGE(part.mimeType)
  return { type: 'file', audio: Buffer.from(part.data, 'base64'), mimeType: part.mimeType }
}

/** The link of a message: a call of one answer, whose audio counts as played once it is there. */
class OneShotLink implements VoiceLink, FailingLink {
  readonly settings = {}
  readonly canClear = true
  readonly reportsPlayback = true
  // The surface has bounded the message already, and its audio counts as played however long it is.
  readonly input = new InputQueue({ bytes: Infinity, inputs: Infinity })
  #hasBegun = false
  #failure: { readonly err: unknown } | undefined

  constructor(turns: readonly Turn[]) {
    turns.forEach((turn, index) =>
      this.input.push(index === turns.length - 1 ? { ...turn, respond: true } : turn)
    )
  }

  /** Why there is no answer, or none to the end. */
  get failure(): { readonly err: unknown } | undefined {
    return this.#failure
  }

  failed(err: unknown): void {
    this.#failure ??= { err }
    if (!this.#hasBegun) this.#end()
  }

  send(output: VoiceOutput): void {
    if (output.type === 'response.start') this.#hasBegun = true
    else if (output.type === 'audio') {
      const ms = output.startMs + durationOf(DEFAULT_AUDIO_FORMAT, output.audio.byteLength)
      this.input.push({ type: 'played', itemId: output.itemId, ms })
    } else if (output.type === 'state' && output.state === 'listening' && this.#hasBegun) this.#end()
  }

  // No surface knows of this call.
  answer(inputId: string): Promise<void> {
    return Promise.reject(new RUN_ERR_INPUT_NOT_FOUND(inputId))
  }

  #end(): void {
    this.input.push({ type: 'end', reason: 'hangup' })
  }
}

/** Milliseconds. */
export interface ModelTimes {
  readonly transcription: number
  readonly speech: number
}

/** Prepares the models of the calls of an agent. @throws RUN_ERR_BAD_MODEL */
function resolveCallModels(
  { listen, speak, provider, language }: CascadeOptions,
  times: ModelTimes
): ResolveModels {
  const transcriptionOf = resolveVoiceModel(listen, TRANSCRIPTION, provider)
  const speechOf = resolveVoiceModel(speak, SPEECH, provider)
  return async ({ context, emit, rates }) => {
    const openResampler = await loadResampler()
    const common = { openResampler, language }
    return {
      transcribe: liftTranscription(await transcriptionOf(context), {
        ...common,
        rate: rates.input,
        timeout: times.transcription,
        ...reportOf('transcription', context, emit)
      }),
      speak: liftSpeech(await speechOf(context), {
        ...common,
        rate: rates.output,
        timeout: times.speech,
        ...reportOf('speech', context, emit)
      })
    }
  }
}

// Tokens count as those of a member of the call.
function reportOf(
  kind: 'transcription' | 'speech',
  { runId, log }: RunContext,
  emit: EngineHost['emit']
): ModelReport {
  return {
    onFault: ({ details }) => log.warn({ runId, ...details }, `a ${kind} model failed`),
    onUsage: (usage: Usage) => void emit({ type: 'step', index: 0, usage, source: [kind] }).catch(() => {})
  }
}

/** What the calls of an agent have in common, made once from its options. */
export interface VoicePlan extends CallPlan {
  readonly details: Partial<RunnableMetadata>
}

/**
 * Checks the options of a voice agent and plans its calls.
 * @throws VOICE_ERR_BAD_OPTION, RUN_ERR_BAD_AGENT, RUN_ERR_BAD_MODEL, RUN_ERR_BAD_SANDBOX, REG_ERR_BAD_NAME, which name the agent
 */
function planVoice(options: VoiceAgentOptions): VoicePlan {
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
      answer,
      voice,
      language,
      detector: detect,
      turnDetector: end,
      endpoint: {
        detect: true,
        threshold,
        silence,
        prefix,
        interruptAfter: interruptAfter(options),
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

/** The media types of messages to it and of its answers, unless its card names others. */
const VOICE_MODES = {
  inputModes: ['text/plain', 'audio/*'],
  outputModes: ['text/plain', 'audio/wav']
} as const

/**
 * An agent that can be called: `converse` holds a call, over the link of any surface. Its `run` and `stream` take a message with audio
 * or text, and are a call of one turn whose answer is an audio file.
 */
export class VoiceAgent extends BaseRunnable implements VoiceRunnable {
  readonly #plan: VoicePlan

  /** @throws VOICE_ERR_BAD_OPTION, RUN_ERR_BAD_MODEL, REG_ERR_BAD_NAME, REG_ERR_NAME_TAKEN, and the errors of tools */
  constructor(options: VoiceAgentOptions) {
    const plan = planVoice(options)
    super({ ...options, card: { ...VOICE_MODES, ...options.card } }, plan.name)
    this.#plan = plan
    this.join(options)
  }

  get kind(): 'agent' {
    return 'agent'
  }

  override get toolNames(): readonly string[] | undefined {
    return this.#plan.toolNames
  }

  override get toolsVary(): boolean {
    return this.#plan.toolsVary
  }

  converse(link: VoiceLink, context: RunContext): AsyncGenerator<YieldedPart, void> {
    const records = this.#plan.record ? 'both' : 'none'
    return reportRun(this, context, this.#call(link, context, records))
  }

  protected override async *execute(input: RunInput, context: RunContext): AsyncGenerator<YieldedPart, void> {
    const link = new OneShotLink(await readMessage(input, context))
    yield* this.#call(link, context, 'answers')
    if (link.failure !== undefined) throw link.failure.err
    yield { type: 'finish', finishReason: 'stop' }
  }

  protected override details(): Partial<RunnableMetadata> {
    return this.#plan.details
  }

  async *#call(
    link: VoiceLink,
    context: RunContext,
    records: CallHost['records']
  ): AsyncGenerator<YieldedPart, void> {
    const channel = new PartChannel()
    const call = new Call({ plan: this.#plan, link, context, records, emit: channel.put })
    try {
      yield* interleave(
        awaiting(() => call.run()),
        channel
      )
    } finally {
      call.hangUp()
      channel.close(new RUN_ERR_CANCELED())
    }
  }
}
