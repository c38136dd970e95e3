import {
  defined,
  requireAudioFormat,
  type AudioFormat,
  type ClientTool,
  type VoiceSettings,
  type VoiceTurnSettings
} from '@svc/contract'
import { ProtocolError } from '../events/read-event.ts'
import type { SessionConfig, TurnDetection, WireFormat } from '../events/session.ts'

/** Parameters of the protocol that have one supported value here, as a default: `null` is always one. */
const ONLY: Readonly<Record<string, readonly unknown[]>> = {
  tool_choice: ['auto'],
  parallel_tool_calls: [true],
  max_output_tokens: ['inf'],
  prompt: [],
  reasoning: [],
  truncation: ['auto'],
  noise_reduction: [],
  speed: [1],
  idle_timeout_ms: []
}

/**
 * Refuses values of the protocol that have no effect here, instead of ignoring them.
 * @param path of the object, such as `session.audio.input`
 * @throws ProtocolError
 */
export function requireSupported(
  given: Readonly<Record<string, unknown>> | null | undefined,
  path: string
): void {
  for (const [name, value] of Object.entries(given ?? {})) {
    const supported = Object.hasOwn(ONLY, name) ? ONLY[name] : undefined
    if (supported === undefined || value === null || supported.includes(value)) continue
    const values = [...supported.map((each) => JSON.stringify(each)), 'null'].join(' or ')
    throw unsupported(`${path}.${name}`, `Only ${values} is supported`)
  }
}

/** The error for a value of the protocol that is not supported. */
export function unsupported(param: string, reason: string): ProtocolError {
  return new ProtocolError('unsupported_value', `Unsupported value of '${param}'. ${reason}.`, param)
}

type AudioInput = NonNullable<NonNullable<SessionConfig['audio']>['input']>
type Tools = NonNullable<SessionConfig['tools']>
type FunctionTool = Extract<Tools[number], { type: 'function' }>

interface Effective {
  /** Undefined until there are any; an empty text takes back what was there. */
  readonly instructions: string | undefined
  readonly modality: 'audio' | 'text'
  readonly input: AudioFormat
  readonly output: AudioFormat
  readonly voice: string | undefined
  readonly tools: readonly FunctionTool[] | undefined
  readonly turnDetection: TurnDetection | null
  readonly transcription: NonNullable<AudioInput['transcription']> | null
}

const DEFAULT_FORMAT = { type: 'audio/pcm', rate: 24_000 } as const
const DEFAULT_DETECTION: TurnDetection = {
  type: 'server_vad',
  create_response: true,
  interrupt_response: true
}
const DEFAULTS: Effective = {
  instructions: undefined,
  modality: 'audio',
  input: DEFAULT_FORMAT,
  output: DEFAULT_FORMAT,
  voice: undefined,
  tools: undefined,
  turnDetection: DEFAULT_DETECTION,
  transcription: {}
}
/** Milliseconds of silence that end a turn, by eagerness; by default as the agent has it. */
const SILENCE_BY_EAGERNESS: Readonly<Record<string, number>> = { low: 1_200, high: 300 }

/** The configuration of a session: what its client chose, over the defaults. */
export class SessionState {
  readonly id: string
  /** The name of the voice agent. */
  readonly model: string
  #effective = DEFAULTS

  constructor(id: string, model: string) {
    this.id = id
    this.model = model
  }

  /** False if transcripts of the user are not sent. */
  get sendsTranscripts(): boolean {
    return this.#effective.transcription !== null
  }

  get inputFormat(): AudioFormat {
    return this.#effective.input
  }

  get outputFormat(): AudioFormat {
    return this.#effective.output
  }

  get modality(): 'audio' | 'text' {
    return this.#effective.modality
  }

  /** True if speech of the user interrupts an answer. */
  get interrupts(): boolean {
    return this.#effective.turnDetection?.interrupt_response ?? false
  }

  get voice(): string | undefined {
    return this.#effective.voice
  }

  /**
   * Takes a configuration; absent fields keep their value. On an error nothing changes.
   * @returns a function that takes it back
   * @throws ProtocolError
   */
  update(config: SessionConfig): () => void {
    this.#requireSupported(config)
    const earlier = this.#effective
    const { instructions, output_modalities: modalities, tools, audio: { input, output } = {} } = config
    this.#effective = {
      instructions: nextText(instructions, earlier.instructions),
      modality: modalities?.[0] ?? earlier.modality,
      input: nextFormat(input?.format, earlier.input, 'input'),
      output: nextFormat(output?.format, earlier.output, 'output'),
      voice: toVoice(output?.voice) ?? earlier.voice,
      tools: nextTools(tools, earlier.tools),
      turnDetection: toDetection(input?.turn_detection, earlier.turnDetection),
      transcription: input?.transcription === undefined ? earlier.transcription : input.transcription
    }
    return () => (this.#effective = earlier)
  }

  /** What a call begins with, or is configured with: a client may take back instructions and tools. */
  toSettings(): VoiceSettings {
    const { instructions, modality, input, output, voice, tools, turnDetection } = this.#effective
    return {
      input,
      output,
      modality,
      ...(voice !== undefined && { voice }),
      ...(instructions !== undefined && { instructions: instructions || undefined }),
      ...(tools !== undefined && { tools: tools.map(toClientTool) }),
      turns: toTurns(turnDetection)
    }
  }

  /** The session as its events show it. */
  toWire() {
    const { instructions, modality, input, output, voice, tools, turnDetection, transcription } =
      this.#effective
    return {
      type: 'realtime' as const,
      object: 'realtime.session',
      id: this.id,
      model: this.model,
      instructions: instructions ?? '',
      output_modalities: [modality],
      tools: [...(tools ?? [])],
      tool_choice: 'auto',
      max_output_tokens: 'inf' as const,
      tracing: null,
      truncation: 'auto',
      prompt: null,
      include: null,
      audio: {
        input: {
          format: toWireFormat(input),
          noise_reduction: null,
          transcription,
          turn_detection: turnDetection
        },
        output: { format: toWireFormat(output), ...(voice !== undefined && { voice }), speed: 1 }
      }
    }
  }

  #requireSupported(config: SessionConfig): void {
    const { type, model, audio, include } = config
    if (type === 'transcription') throw unsupported('session.type', 'Only "realtime" is supported')
    if (model !== undefined && model !== this.model)
      throw new ProtocolError(
        'invalid_value',
        `The model of this session is '${this.model}' and cannot be changed: connect with ?model=${model} instead.`,
        'session.model'
      )
    if ((include ?? []).length > 0)
      throw unsupported('session.include', 'Log probabilities are not available')
    requireSupported(config, 'session')
    requireSupported(audio?.input, 'session.audio.input')
    requireSupported(audio?.output, 'session.audio.output')
    requireSupported(audio?.input?.turn_detection, 'session.audio.input.turn_detection')
  }
}

/** True if a configuration has a field that a call begins with. */
export function configuresCall({
  instructions,
  output_modalities: modalities,
  tools,
  audio
}: SessionConfig): boolean {
  return [instructions, modalities, tools, audio].some((each) => each !== undefined)
}

/** A format on the wire: G.711 has no rate there. */
export function toWireFormat({ type, rate }: AudioFormat): WireFormat {
  return type === 'audio/pcm' ? { type, rate } : { type }
}

function nextFormat(
  given: WireFormat | undefined,
  earlier: AudioFormat,
  of: 'input' | 'output'
): AudioFormat {
  if (given === undefined) return earlier
  const { type, rate = type === 'audio/pcm' ? DEFAULT_FORMAT.rate : 8_000 } = given
  try {
    return requireAudioFormat({ type, rate })
  } catch (err) {
    throw new ProtocolError('invalid_value', (err as Error).message, `session.audio.${of}.format`)
  }
}

function toVoice(voice: string | { id: string } | undefined): string | undefined {
  return typeof voice === 'object' ? voice.id : voice
}

function requireFunction(tool: Tools[number], index: number): FunctionTool {
  if (tool.type === 'function') return tool
  throw unsupported(`session.tools[${index}].type`, 'Only "function" is supported')
}

function nextText(given: string | undefined, earlier: string | undefined): string | undefined {
  return given === undefined || (earlier === undefined && given === '') ? earlier : given
}

function nextTools(given: Tools | undefined, earlier: readonly FunctionTool[] | undefined) {
  if (given === undefined || (earlier === undefined && given.length === 0)) return earlier
  return given.map(requireFunction)
}

function toClientTool({ name, description = '', parameters }: FunctionTool): ClientTool {
  return { name, description, input: { type: 'object', ...parameters } }
}

function toDetection(given: TurnDetection | null | undefined, earlier: TurnDetection | null) {
  if (given === undefined) return earlier
  return given === null ? null : { create_response: true, interrupt_response: true, ...given }
}

function toTurns(detection: TurnDetection | null): VoiceTurnSettings {
  if (detection === null) return { detect: false, respond: false, interrupt: false }
  const { create_response: respond = true, interrupt_response: interrupt = true } = detection
  const answering = { detect: true, respond, interrupt }
  if (detection.type === 'semantic_vad') {
    const silence = SILENCE_BY_EAGERNESS[detection.eagerness ?? 'auto']
    return { ...answering, ...(silence !== undefined && { silence }) }
  }
  const { threshold, prefix_padding_ms: prefix, silence_duration_ms: silence } = detection
  return { ...answering, ...defined({ threshold, prefix, silence }) }
}
