import {
  defined,
  requireAudioFormat,
  type ChildCaller,
  type RunContext,
  type Runnable,
  type VoiceSettings,
  type YieldedPart
} from '@svc/contract'
import { RUN_ERR_CANCELED } from '@svc/contract/errors'
import type { TurnDetector, VoiceDetector } from '../../detect/fvad.ts'
import type { EndpointSettings } from '../../detect/turn-finder.ts'
import type { Speak } from '../../speech/lift-speech.ts'
import type { OpenTranscription } from '../../speech/model-calls.ts'
import { AnswerRun } from '../answer-run.ts'
import type {
  AnswerRequest,
  EngineHost,
  OpenVoiceEngine,
  PlayedAnswer,
  VoiceEngine,
  WrittenTurn
} from '../engine.ts'
import { Listening } from './listening.ts'
import { Speaking } from './speaking.ts'

/** Milliseconds in which an interrupted answer may still generate text; then it is ended. */
const STOP_TIMEOUT = 1_000

/** What an answer needs. */
export interface CascadeAnswerCall {
  readonly host: EngineHost
  readonly runnable: Runnable
  readonly request: AnswerRequest
  readonly settings: VoiceSettings
  readonly speaking: Speaking
  /** What the call has said before the first turn. */
  readonly said: string | undefined
}

/** One answer of a runnable, spoken while it is generated. */
class CascadeAnswer {
  readonly #call: CascadeAnswerCall
  readonly #run: AnswerRun
  readonly #end = new AbortController()
  #isCut = false
  #hasFailed = false
  #textAfterCut = 0
  #stopTimer: NodeJS.Timeout | undefined

  constructor(call: CascadeAnswerCall) {
    this.#call = call
    const { host, runnable, request, speaking } = call
    const isSpoken = request.modality === 'audio'
    const text = request.turns.map((turn) => turn.text).join('\n')
    this.#run = new AnswerRun({
      runnable,
      request,
      caller: this.#callerFor(text !== ''),
      signal: this.#end.signal,
      host: { ...host, emit: (part) => this.#emit(part) },
      input: text === '' ? request.instructions : text,
      onText: (delta) => {
        if (this.#isCut) this.#stopSoon()
        else if (isSpoken) speaking.push(delta)
      },
      onComplete: async () => {
        speaking.flush()
        await speaking.spoken()
        // The end of a failed answer is its error.
        if (this.#hasFailed) await new Promise(() => {})
      }
    })
  }

  /** Answers; the last event is `response.end`. */
  async run(): Promise<void> {
    this.#call.speaking.begin()
    const off = this.#call.host.context.onAbort((reason) => this.#end.abort(reason))
    await this.#run.run()
    off()
    clearTimeout(this.#stopTimer)
  }

  delivered(): void {
    this.#run.delivered()
  }

  interrupt(played: PlayedAnswer): void {
    this.#isCut = true
    this.#run.interrupt(played)
  }

  /** The rest of the answer cannot be spoken: it ends with what was. */
  failSpeech(error: unknown): void {
    this.#isCut = this.#hasFailed = true
    this.#end.abort(error)
  }

  /** The call is over. */
  close(): void {
    this.#end.abort(new RUN_ERR_CANCELED())
  }

  #callerFor(hasTurns: boolean): ChildCaller | undefined {
    const { host, runnable, settings, request, said } = this.#call
    // It takes neither instructions nor tools.
    if (runnable.kind === 'workflow') return undefined
    const { context } = host
    const instructions = [
      settings.instructions ?? context.instructions,
      said && `You have greeted the user with: ${said}`,
      hasTurns ? request.instructions : undefined
    ]
    const tools = settings.tools ?? context.clientTools
    const text = instructions.filter(Boolean).join('\n\n')
    const { toolChoice, stop } = context
    return {
      instructions: text === '' ? undefined : text,
      tools: tools.length === 0 ? undefined : tools,
      toolChoice,
      stop
    }
  }

  // What is said before a tool is spoken at once.
  #emit(part: YieldedPart): Promise<void> {
    if (part.type === 'tool.call' && !this.#isCut) this.#call.speaking.flush()
    return this.#call.host.emit(part)
  }

  // A runnable that does not know of interruptions would generate all of its answer. One that does ends it, and finishes its tools.
  #stopSoon(): void {
    this.#textAfterCut++
    this.#stopTimer ??= setTimeout(() => {
      if (this.#textAfterCut > 1) this.#end.abort(new RUN_ERR_CANCELED())
    }, STOP_TIMEOUT)
  }
}

/** What the calls of a cascade have in common. */
export interface CascadePlan {
  readonly answer: Runnable
  readonly detector: VoiceDetector
  readonly turnDetector: TurnDetector | undefined
  readonly endpoint: EndpointSettings
  readonly resolveModels: ResolveModels
  readonly voice: string | undefined
  /** BCP 47. */
  readonly language: string | undefined
}

/** The models of one call. */
export interface CallModels {
  readonly transcribe: OpenTranscription
  readonly speak: Speak
}

/** Resolves the models of a call. */
export type ResolveModels = (call: {
  readonly context: RunContext
  readonly emit: EngineHost['emit']
  /** Hz of the user's audio, and of answers. */
  readonly rates: { readonly input: number; readonly output: number }
}) => Promise<CallModels>

/** Begins engines that transcribe, have a runnable answer, and speak. */
export function cascadeEngine(plan: CascadePlan): OpenVoiceEngine {
  return async (host) => {
    const { detector, turnDetector, endpoint } = plan
    const outputRate = requireAudioFormat(host.settings.output).rate
    const { notify, settings, context, emit } = host
    const rates = { input: detector.rate, output: outputRate }
    const models = await plan.resolveModels({ context, emit, rates })
    const listening = await Listening.open({
      notify,
      detector,
      turnDetector,
      transcribe: models.transcribe,
      settings: endpointOf(endpoint, settings)
    })
    return new Cascade(plan, host, models, listening, outputRate)
  }
}

class Cascade implements VoiceEngine {
  readonly name = 'cascade'
  readonly answersAudio = false
  readonly inputRate: number
  readonly outputRate: number
  readonly #plan: CascadePlan
  readonly #host: EngineHost
  readonly #listening: Listening
  readonly #speaking: Speaking
  #settings: VoiceSettings
  #answer: CascadeAnswer | undefined
  // Before the first answer: the greeting, which that must not repeat.
  #said: string | undefined

  constructor(
    plan: CascadePlan,
    host: EngineHost,
    models: CallModels,
    listening: Listening,
    outputRate: number
  ) {
    this.inputRate = plan.detector.rate
    this.outputRate = outputRate
    this.#plan = plan
    this.#host = host
    this.#listening = listening
    this.#settings = host.settings
    this.#speaking = new Speaking({
      notify: host.notify,
      rate: outputRate,
      language: plan.language,
      speak: (text, signal) => models.speak(text, this.#settings.voice ?? plan.voice, signal),
      onError: (error) => this.#answer?.failSpeech(error)
    })
  }

  append(samples: Int16Array): void {
    this.#listening.append(samples)
  }

  commit(itemId: string): void {
    this.#listening.commit(itemId)
  }

  clear(): void {
    this.#listening.clear()
  }

  write(turn: WrittenTurn): void {
    if ('audio' in turn) this.#listening.read(turn.itemId, turn.audio, turn.mimeType)
  }

  respond(request: AnswerRequest): void {
    const { answer: runnable } = this.#plan
    const answer = new CascadeAnswer({
      host: this.#host,
      runnable,
      request,
      settings: this.#settings,
      speaking: this.#speaking,
      said: request.index === 0 ? this.#said : undefined
    })
    this.#answer = answer
    void answer.run()
  }

  say(text: string): void {
    this.#said ??= text
    this.#speaking.say(text)
  }

  textAt(ms: number): string {
    return this.#speaking.textAt(ms)
  }

  delivered(): void {
    this.#answer?.delivered()
  }

  interrupt(played: PlayedAnswer): void {
    this.#speaking.stop()
    this.#answer?.interrupt(played)
  }

  configure(settings: VoiceSettings): void {
    this.#settings = settings
    this.#listening.configure(endpointOf(this.#plan.endpoint, settings))
  }

  close(): void {
    this.#listening.close()
    this.#speaking.stop()
    this.#answer?.close()
  }
}

function endpointOf(endpoint: EndpointSettings, { turns = {} }: VoiceSettings): EndpointSettings {
  const { detect, threshold, silence, prefix } = turns
  return {
    ...endpoint,
    ...defined({ detect, threshold }),
    ...(silence !== undefined && { silence, maxSilence: Math.max(silence, endpoint.maxSilence) }),
    ...(prefix !== undefined && { prefix })
  }
}
