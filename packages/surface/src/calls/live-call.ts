import {
  bytesPerSample,
  durationOf,
  InputQueue,
  requireAudioFormat,
  toStoredError,
  type ApprovalAnswer,
  type AudioFormat,
  type Awaitable,
  type InputAnswer,
  type Principal,
  type VoiceInput,
  type VoiceLink,
  type VoiceOutput,
  type VoiceSettings
} from '@svc/contract'
import { VOICE_ERR_BAD_FRAME, VOICE_ERR_FRAME_TOO_LARGE, VOICE_ERR_TOO_FAST } from '@svc/contract/errors'
import type { Run } from '@svc/registry'
import { OutputFeed, OutputPacer, type CallConnection, type CallEnd, type ClientInput } from './outputs.ts'

/** Bytes of a frame. */
const MAX_FRAME = 65_536
/** Milliseconds of a slot, and the number of slots that are counted. */
const SLOT = 500
const SLOTS = 10
/** Milliseconds of audio within all slots. */
const MAX_AUDIO = 2 * SLOT * SLOTS

/** Checks the audio that a client sends: whole samples, frames of at most 64 KiB, at most twice real time over 5 seconds. */
export class AudioIntake {
  /** The format of the next frame. */
  format: AudioFormat
  // Milliseconds of audio by slot of the clock; the oldest slot is reused.
  readonly #slots = new Float64Array(SLOTS)
  #slot = 0

  constructor(format: AudioFormat) {
    this.format = format
  }

  /**
   * Counts a frame.
   * @param now milliseconds of a monotonic clock
   * @throws VOICE_ERR_BAD_FRAME, VOICE_ERR_FRAME_TOO_LARGE, VOICE_ERR_TOO_FAST
   */
  take(audio: unknown, now = performance.now()): void {
    if (!(audio instanceof Uint8Array)) throw new VOICE_ERR_BAD_FRAME('it is not binary')
    const { byteLength } = audio
    if (byteLength === 0) throw new VOICE_ERR_BAD_FRAME('it is empty')
    if (byteLength > MAX_FRAME) throw new VOICE_ERR_FRAME_TOO_LARGE(byteLength)
    if (byteLength % bytesPerSample(this.format) !== 0)
      throw new VOICE_ERR_BAD_FRAME(`${byteLength} bytes are not a whole number of 16-bit samples`)
    this.#count(durationOf(this.format, byteLength), Math.floor(now / SLOT))
  }

  #count(ms: number, slot: number): void {
    const slots = this.#slots
    const passed = Math.min(slot - this.#slot, SLOTS)
    for (let back = 0; back < passed; back++) slots[(slot - back) % SLOTS] = 0
    this.#slot = slot
    if (slots.reduce((sum, each) => sum + each, ms) > MAX_AUDIO) throw new VOICE_ERR_TOO_FAST()
    slots[slot % SLOTS]! += ms
  }
}

/** Milliseconds for a call to end by itself after its last input; then it is canceled. */
const END_TIMEOUT = 30_000

/** What a call needs of its surface. */
export interface CallHost {
  /** Milliseconds for a lost connection to come back. */
  readonly grace: number
  /** Checks that the surface and the runnable accept settings. @throws RUN_ERR_CLIENT_INSTRUCTIONS, RUN_ERR_CLIENT_TOOLS, RUN_ERR_BAD_INPUT, RUN_ERR_TOOL_NAME_TAKEN */
  requireSettings(settings: Pick<VoiceSettings, 'instructions' | 'tools'>): void
  /** Answers an input of the call's run in the name of a caller. */
  answer(
    run: Pick<Run, 'runId'>,
    principal: Principal,
    inputId: string,
    answer: ApprovalAnswer | InputAnswer
  ): Promise<void>
  ended(call: LiveCall): void
}

/** The client of a call. */
export interface CallClient {
  readonly principal: Principal
  readonly settings: VoiceSettings
  /** As in `VoiceLink`. */
  readonly canClear: boolean
  /** As in `VoiceLink`. */
  readonly reportsPlayback: boolean
}

/** A call in progress: the link of its runnable, which outlives the connections of its client. */
export class LiveCall implements VoiceLink {
  readonly settings: VoiceSettings
  readonly canClear: boolean
  readonly reportsPlayback: boolean
  readonly input = new InputQueue()
  /** The caller; a connection that comes back may have another token. */
  principal: Principal
  readonly #host: CallHost
  readonly #intake: AudioIntake
  readonly #feed = new OutputFeed()
  readonly #pacer: OutputPacer | undefined
  readonly #over = Promise.withResolvers<CallEnd>()
  #outputFormat: AudioFormat
  #run: Pick<Run, 'runId' | 'sessionId' | 'cancel'> | undefined
  #isAway = false
  #timer: NodeJS.Timeout | undefined
  #isEnding = false

  /** @throws VOICE_ERR_BAD_FORMAT */
  constructor(host: CallHost, { principal, settings, canClear, reportsPlayback }: CallClient) {
    const input = requireAudioFormat(settings.input)
    this.#outputFormat = requireAudioFormat(settings.output)
    this.settings = Object.freeze({ ...settings, input, output: this.#outputFormat })
    this.canClear = canClear
    this.reportsPlayback = reportsPlayback
    this.principal = principal
    this.#host = host
    this.#intake = new AudioIntake(input)
    const send = (output: VoiceOutput) => this.#feed.push(output, this.#outputFormat)
    if (!canClear) this.#pacer = new OutputPacer(send, () => this.#outputFormat)
  }

  /** The id of its run. */
  get runId(): string {
    return this.#run!.runId
  }

  get sessionId(): string {
    return this.#run!.sessionId
  }

  /** Resolves when its run has ended. */
  get over(): Promise<CallEnd> {
    return this.#over.promise
  }

  send(output: VoiceOutput): Awaitable<void> {
    return this.#pacer === undefined ? this.#feed.push(output, this.#outputFormat) : this.#pacer.send(output)
  }

  answer(inputId: string, answer: ApprovalAnswer | InputAnswer): Promise<void> {
    return this.#host.answer({ runId: this.runId }, this.principal, inputId, answer)
  }

  /** Its run was started. */
  begun(run: Run): void {
    this.#run = run
    run.result().then(
      ({ finishReason }) => this.#end({ status: finishReason === 'canceled' ? 'canceled' : 'completed' }),
      (err: unknown) => {
        const { code, message } = toStoredError(err)
        this.#end({ status: 'failed', error: { code, message } })
      }
    )
  }

  /**
   * Takes what the client sends.
   * @throws VOICE_ERR_BAD_FRAME, VOICE_ERR_FRAME_TOO_LARGE, VOICE_ERR_TOO_FAST, VOICE_ERR_INPUT_FULL, VOICE_ERR_BAD_FORMAT,
   * VOICE_ERR_UNKNOWN_ITEM, VOICE_ERR_BAD_POSITION, and the errors of `CallHost.requireSettings`
   */
  receive(input: ClientInput): void {
    if (input.type === 'audio') return this.#takeAudio(input.audio)
    if (input.type === 'respond' && input.instructions !== undefined)
      this.#host.requireSettings({ instructions: input.instructions })
    else if (input.type === 'configure') return this.#configure(input.settings)
    else if (input.type === 'played') this.#feed.played(input.itemId, input.ms)
    else if (input.type === 'truncate') this.#feed.played(input.itemId, input.heardMs)
    this.input.push(input)
  }

  /** Checks that all outputs after a position can be sent. @throws VOICE_ERR_BAD_AFTER, VOICE_ERR_OUTPUT_GONE */
  requireAfter(after: number): void {
    this.#feed.requireAfter(after)
  }

  /**
   * Sends to a connection from now on; an earlier one is replaced.
   * @param after the last output that the client has, 0 for none; default: the latest
   * @throws VOICE_ERR_BAD_AFTER, VOICE_ERR_OUTPUT_GONE
   */
  connect(connection: CallConnection, after?: number): void {
    this.#feed.connect(connection, after)
    if (!this.#isAway) return
    this.#isAway = false
    clearTimeout(this.#timer)
    this.input.push({ type: 'back' })
  }

  /** The client has received all outputs up to a position: they are not kept for its return. */
  acknowledged(position: number): void {
    this.#feed.acknowledged(position)
  }

  /** A connection was lost. Without another one within the grace period the call ends. */
  disconnect(connection: CallConnection): void {
    if (!this.#feed.disconnect(connection) || this.#isEnding) return
    if (this.#host.grace === 0) return this.end('gone')
    this.#isAway = true
    this.input.push({ type: 'away' })
    this.#timer = setTimeout(() => this.end('gone'), this.#host.grace)
  }

  /** The last input. A call that does not end then is canceled after 30 seconds. */
  end(reason: Extract<VoiceInput, { type: 'end' }>['reason']): void {
    if (this.#isEnding) return
    this.#isEnding = true
    clearTimeout(this.#timer)
    this.input.push({ type: 'end', reason })
    this.#pacer?.close()
    this.#feed.release()
    this.#timer = setTimeout(() => void this.#run?.cancel().catch(() => {}), END_TIMEOUT)
  }

  // The agent gets a copy: a frame may be a Buffer within a larger chunk that was received.
  #takeAudio(audio: Uint8Array): void {
    this.#intake.take(audio)
    this.input.push({ type: 'audio', audio: new Uint8Array(audio) })
  }

  #configure(settings: VoiceSettings): void {
    const { input = this.#intake.format, output = this.#outputFormat } = settings
    const formats = [requireAudioFormat(input), requireAudioFormat(output)] as const
    this.#host.requireSettings(settings)
    this.input.push({ type: 'configure', settings })
    ;[this.#intake.format, this.#outputFormat] = formats
  }

  #end(end: CallEnd): void {
    this.#isEnding = true
    clearTimeout(this.#timer)
    void this.input.return()
    this.#pacer?.close()
    this.#feed.end(end)
    this.#host.ended(this)
    this.#over.resolve(end)
  }
}
