import {
  DEFAULT_AUDIO_FORMAT,
  durationOf,
  InputQueue,
  RUN_ERR_INPUT_NOT_FOUND,
  type AcceptedMessage,
  type ContentPart,
  type RunContext,
  type RunInput,
  type VoiceInput,
  type VoiceLink,
  type VoiceOutput
} from '@svc/contract'
import { requireInput } from '@svc/registry/engine'
import { hasUrls, loadFiles, resolveUrls, URL_DEFAULTS } from '@svc/runtime/loop'
import type { FailingLink } from './call/call-scope.ts'
import { VOICE_ERR_BAD_MESSAGE } from './errors.ts'

type Turn = Extract<VoiceInput, { type: 'text' | 'file' }>

/**
 * Reads the turns of a message: its texts and audio files.
 * @throws RUN_ERR_BAD_INPUT, VOICE_ERR_BAD_MESSAGE for other content, RUN_ERR_URL_…
 */
export async function readMessage(input: RunInput, { signal }: Pick<RunContext, 'signal'>): Promise<Turn[]> {
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
export class OneShotLink implements VoiceLink, FailingLink {
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
