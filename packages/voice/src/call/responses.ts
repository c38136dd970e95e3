import {
  addUsage,
  toLoggable,
  within,
  ZERO_USAGE,
  type AudioFormat,
  type RequestedInput,
  type Usage,
  type VoiceInput,
  type YieldedPart
} from '@svc/contract'
import { VOICE_ERR_BAD_POSITION, VOICE_ERR_UNKNOWN_ITEM } from '@svc/contract/errors'
import type { VoiceEngineEvent } from '../engines/engine.ts'
import { VOICE_ERR_NO_RESPONSE, VOICE_ERR_NOTHING_TO_ANSWER } from '../errors.ts'
import { Answering } from './answering.ts'
import { sendError, type CallScope } from './call-scope.ts'
import { Interruption } from './interruption.ts'
import { Questions, ToolWatch } from './tool-watch.ts'
import type { ClientToolCall } from './response.ts'
import type { UserTurns } from './user-turns.ts'

/** Writes the `voice.turn` of an answer, and emits its event. */
function reportAnswer({ context, events, write }: CallScope, answering: Answering): void {
  const { request, response, playback, turns, error } = answering
  if (request === undefined) return
  const status = answering.status === 'canceled' ? 'interrupted' : answering.status
  const { runId, log } = context
  if (error !== undefined) log.warn({ runId, err: toLoggable(error) }, 'the turn of a call failed')
  const last = turns.at(-1)
  const { index } = request
  const itemId = response.itemId === '' ? (last?.itemId ?? '') : response.itemId
  const latency = last === undefined ? {} : latencyOf(answering, last)
  write({ type: 'voice.turn', index, itemId, status, heardMs: playback.ms, text: playback.text, latency })
  events.emit('voice.turn', () => ({ index, status, latency }))
}

// Milliseconds since the user stopped speaking.
function latencyOf(
  { response }: Answering,
  { stoppedAt, endpointMs, transcriptMs }: Answering['turns'][number]
) {
  const { firstTokenAt, firstAudioAt } = response.times
  return {
    endpointMs,
    ...(transcriptMs !== undefined && { transcriptMs }),
    ...(firstTokenAt !== undefined && { firstTokenMs: firstTokenAt - stoppedAt }),
    ...(firstAudioAt !== undefined && { firstAudioMs: firstAudioAt - stoppedAt })
  }
}

type Event<T extends VoiceEngineEvent['type']> = Extract<VoiceEngineEvent, { type: T }>
type Input<T extends VoiceInput['type']> = Extract<VoiceInput, { type: T }>

/** Converts the audio of the engine to the output format. */
export interface OutputAudio {
  /** Begins an answer; returns its format. */
  begin(): AudioFormat
  encode(samples: Int16Array): Uint8Array
  /** The rest of what was encoded. */
  flush(): Uint8Array
}

/** What the responses report to their call. */
export interface ResponsesHost {
  state(state: 'listening' | 'thinking' | 'speaking'): void
  /** Called when an answer is over. */
  ended(answering: Answering): void
}

/** The sequencer: begins responses, one at a time, and ends them. */
export class Responses {
  readonly questions: Questions
  readonly interruption: Interruption
  interruptions = 0
  /** Tokens of all answers. */
  usage: Usage = ZERO_USAGE
  readonly #scope: CallScope
  readonly #host: ResponsesHost
  readonly #output: OutputAudio
  readonly #tools: ToolWatch
  readonly #answeringHost = {
    speaks: () => this.#host.state('speaking'),
    silent: (answering: Answering) => this.#silent(answering),
    ended: (answering: Answering) => this.#ended(answering)
  }
  readonly #turns: UserTurns
  /** The one that the engine is busy with; it may be silent already, while its tools finish. */
  #working: Answering | undefined
  /** The one that the client receives. */
  #onAir: Answering | undefined
  /** The last one that was on the air. */
  #last: Answering | undefined
  /** What the next answer was asked for; further requests are for the same answer. */
  #asked: Input<'respond'> | undefined
  /** True once tools of the client were called since the last turn. */
  #continued = false
  #isClosed = false
  /** What the answer waits for. */
  readonly #inputs = new Set<RequestedInput>()
  #whenIdle: (() => void) | undefined

  constructor(scope: CallScope, host: ResponsesHost, turns: UserTurns, output: OutputAudio) {
    this.#scope = scope
    this.#turns = turns
    this.#host = host
    this.#output = output
    const say = (text: string) => this.say(text)
    this.questions = new Questions(scope, say)
    this.#tools = new ToolWatch(scope, {
      playsFor: () => this.#onAir?.response.playout.playsFor ?? 0,
      say,
      callClient: (calls) => this.#callClient(calls)
    })
    this.interruption = new Interruption(scope, {
      hold: () => this.#hold(),
      release: () => this.#release(),
      confirm: () => this.#confirm(),
      skip: () => this.#onAir?.skip()
    })
  }

  /** The user has taken a turn. */
  turn(): void {
    this.#continued = false
    this.next()
  }

  /** True while an answer is being made or played. */
  get isBusy(): boolean {
    return this.#working !== undefined || this.#onAir !== undefined
  }

  /** Begins the next response, if there is something to answer, and nothing else is on the air. */
  next(): void {
    if (this.#isClosed || this.isBusy) return
    const { engine, settings, order } = this.#scope
    const isAutomatic = settings.turns?.respond !== false
    if (!engine.answersAudio && this.#turns.isTranscribing) return
    const asked = this.#asked
    if (asked === undefined && !(isAutomatic && this.#turns.waiting.some(({ isSpoken }) => isSpoken))) return
    this.#asked = undefined
    const turns = this.#turns.take()
    if (turns.length === 0 && asked?.instructions === undefined && !engine.answersAudio) {
      sendError(this.#scope, new VOICE_ERR_NOTHING_TO_ANSWER())
      return
    }
    const modality = asked?.modality ?? settings.modality ?? 'audio'
    const request = { index: order.nextTurn(), turns, instructions: asked?.instructions, modality }
    this.#begin(new Answering(this.#scope, this.#answeringHost, this.#output.begin(), { request, turns }))
  }

  /** Asks for an answer, as soon as the response on the air has ended. */
  respond(input: Input<'respond'>): void {
    // Some clients ask for a response after the result of a tool, but the answer continues by itself.
    if (this.#continued) this.#continued = false
    else this.#asked ??= input
    this.next()
  }

  /** Speaks a text of the call, in the response on the air or in one of its own. */
  say(text: string): void {
    if (this.#isClosed || text === '' || (this.#scope.settings.modality ?? 'audio') === 'text') return
    if (this.#onAir === undefined)
      this.#begin(new Answering(this.#scope, this.#answeringHost, this.#output.begin(), undefined))
    this.#onAir?.say(text)
  }

  cancel(): void {
    if (this.#onAir === undefined) return sendError(this.#scope, new VOICE_ERR_NO_RESPONSE())
    this.interruption.end()
    this.#onAir.cut('canceled')
  }

  truncate({ itemId, heardMs }: Input<'truncate'>): void {
    const found = [this.#onAir, this.#last].find((each) => each?.response.owns(itemId))
    if (found === undefined) return sendError(this.#scope, new VOICE_ERR_UNKNOWN_ITEM(itemId))
    const sentMs = found.response.playout.sentOf(itemId)
    // Clients round to milliseconds.
    if (heardMs > sentMs + 1)
      return sendError(this.#scope, new VOICE_ERR_BAD_POSITION(itemId, Math.round(sentMs)))
    const wasOnAir = found === this.#onAir
    found.truncate(itemId, heardMs)
    if (wasOnAir && !found.isOnAir) this.interruption.end()
    // The engine knows only the last of its answers.
    const isKnown = found.request === undefined || this.#working === undefined || this.#working === found
    const text = isKnown ? found.response.textOf(itemId, heardMs) : found.playback.text
    void this.#scope.link.send({ type: 'truncated', itemId, heardMs, text })
  }

  played({ itemId, ms }: Input<'played'>): void {
    this.#onAir?.response.playout.report(itemId, ms)
  }

  pause(): void {
    this.#onAir?.response.playout.pause()
  }

  resume(): void {
    this.#onAir?.response.playout.resume()
  }

  /** Takes what the engine reports about its answer. */
  take(event: Event<'text' | 'audio' | 'answer.end' | 'response.end' | 'said'>): void {
    const working = this.#working
    if (event.type === 'text') working?.text(event.delta)
    else if (event.type === 'audio') this.#audio(event)
    else if (event.type === 'said') {
      this.#onAir?.audio(this.#output.flush(), 'say')
      this.#onAir?.said()
    } else if (event.type === 'answer.end') {
      working?.audio(this.#output.flush(), 'answer')
      working?.generated()
    } else {
      this.#tools.clear()
      working?.finished(event)
    }
  }

  /** Takes a part of the answer. */
  part(part: YieldedPart): void {
    if (part.type === 'step') this.usage = addUsage(this.usage, part.usage)
    this.#working?.part(part)
    this.#tools.take(part)
    this.#checkIdle()
  }

  /** The answer waits for the user, or for a tool of the client. */
  input(input: RequestedInput): void {
    const { request, settled } = input
    this.#inputs.add(input)
    void settled.then(() => this.#inputs.delete(input))
    if (this.#isClosed) return this.#checkIdle()
    if (request.type !== 'input.request' || request.kind !== 'tool') return this.questions.ask(input)
    const { inputId, toolCallId = '', toolName = '', args } = request
    this.#tools.ask({ inputId, toolCallId, toolName, args })
  }

  /** Ends everything: the call is over. Resolves once the engine has finished or only waits for inputs, or after a moment. */
  async close(ms: number): Promise<void> {
    this.#isClosed = true
    this.interruption.end()
    this.#onAir?.close()
    if (this.#working === undefined) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#whenIdle = resolve
    this.#checkIdle()
    await within(ms, promise)
    this.#tools.clear()
  }

  #checkIdle(): void {
    if (this.#isClosed && this.#inputs.size > 0 && !this.#tools.isWorking(this.#inputs)) this.#whenIdle?.()
  }

  #begin(answering: Answering): void {
    this.#onAir = answering
    if (answering.request !== undefined) {
      this.#working = answering
      this.#host.state('thinking')
    }
    answering.begin()
    this.interruption.begin(answering.request?.turns)
  }

  #audio({ of, samples }: Event<'audio'>): void {
    const answering = of === 'answer' ? this.#working : this.#onAir
    if (!answering?.isOnAir) return
    if (of === 'say') answering.saying(samples, this.#scope.engine.outputRate)
    answering.audio(this.#output.encode(samples), of)
  }

  #silent(answering: Answering): void {
    if (this.#onAir !== answering) return
    this.#last = answering
    this.#onAir = undefined
    this.interruption.end()
    this.#host.state('listening')
  }

  #ended(answering: Answering): void {
    if (this.#working === answering) this.#working = undefined
    reportAnswer(this.#scope, answering)
    this.#host.ended(answering)
    this.#whenIdle?.()
    this.next()
  }

  #callClient(calls: readonly ClientToolCall[]): void {
    this.#continued = true
    const working = this.#working
    if (working?.isOnAir) working.response.callClient(calls)
    // The user has interrupted the answer, but its tools still finish.
    else
      new Answering(this.#scope, this.#answeringHost, this.#output.begin(), undefined).response.callClient(
        calls
      )
  }

  #hold(): boolean {
    this.#onAir?.hold()
    return this.#onAir !== undefined
  }

  #release(): void {
    const onAir = this.#onAir
    if (onAir === undefined) return
    this.#reportInterruption(onAir, true)
    onAir.release()
  }

  // While the user is asked, only the question ends: the answer waits for its own.
  #confirm(): void {
    const onAir = this.#onAir
    if (onAir === undefined) return
    if (this.questions.isWaiting) return onAir.skip()
    this.interruptions++
    this.#reportInterruption(onAir, false)
    onAir.cut('interrupted')
  }

  #reportInterruption({ response }: Answering, falseAlarm: boolean): void {
    const { heardMs } = response.playback
    this.#scope.events.emit('voice.interrupt', () => ({ heardMs, falseAlarm }))
  }
}
