import {
  RUN_ERR_CANCELED,
  type RunContext,
  type RunInput,
  type RunnableMetadata,
  type VoiceLink,
  type VoiceRunnable,
  type YieldedPart
} from '@svc/contract'
import { BaseRunnable, awaiting, interleave, PartChannel, reportRun } from '@svc/runtime/loop'
import { Call, type CallHost } from './call/call.ts'
import { OneShotLink, readMessage } from './one-shot-link.ts'
import { planVoice, type VoicePlan } from './plan-voice.ts'
import type { VoiceAgentOptions } from './voice-options.ts'

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
    return reportRun(this, context, () => this.#call(link, context, records))
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
