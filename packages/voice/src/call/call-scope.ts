import {
  dropOldest,
  randomId,
  toPartError,
  toStoredError,
  type RunContext,
  type VoiceLink,
  type VoiceSettings,
  type YieldedPart
} from '@svc/contract'
import type { RunEvents } from '@svc/runtime/loop'
import type { OpenVoiceEngine, VoiceEngine } from '../engines/engine.ts'
import { VOICE_ERR_ITEM_EXISTS } from '../errors.ts'

/** What the call says itself about tools. */
export interface SpokenTools {
  readonly filler: string | undefined
  /** Milliseconds of silence before the filler. */
  readonly fillerAfter: number
  readonly question: (call: { readonly toolName: string; readonly args: unknown }) => string
  readonly yes: ReadonlySet<string>
  readonly no: ReadonlySet<string>
}

/** What all calls of an agent have in common. Times are milliseconds. */
export interface CallPlan {
  readonly name: string
  /** Names that the tools of a client must not have, as far as they are known. */
  readonly toolNames: readonly string[] | undefined
  readonly toolsVary: boolean
  readonly open: OpenVoiceEngine
  readonly greeting: string | undefined
  /** Undefined: answers are not interrupted. */
  readonly interrupt: { readonly words: number; readonly resume: number } | undefined
  readonly tools: SpokenTools
  readonly idle: number
  /** Of a whole call. */
  readonly timeout: number
  readonly record: boolean
}

/** What the parts of one call share. */
export interface CallScope {
  readonly plan: CallPlan
  readonly link: VoiceLink
  readonly context: RunContext
  readonly engine: VoiceEngine
  readonly events: RunEvents
  /** The agent's settings with those of the client. */
  readonly settings: VoiceSettings
  readonly order: CallOrder
  /** Writes a part of the call into the log. */
  write(part: YieldedPart): void
}

/** Ids that a client must not use again; the oldest are forgotten. */
const MAX_IDS = 10_000

/** The order of a call's items and answers. */
export class CallOrder {
  #last: string | undefined
  #turns = 0
  readonly #ids = new Set<string>()

  /** Puts an item after all others; returns the one before it. */
  place(itemId: string): string | undefined {
    this.#keep(itemId)
    const previous = this.#last
    this.#last = itemId
    return previous
  }

  /** Reserves the id of a client's turn. @throws VOICE_ERR_ITEM_EXISTS */
  reserve(itemId: string): void {
    if (this.#ids.has(itemId)) throw new VOICE_ERR_ITEM_EXISTS(itemId.slice(0, 64))
    this.#keep(itemId)
  }

  /** The index of the next answer, from 0. */
  nextTurn(): number {
    return this.#turns++
  }

  #keep(itemId: string): void {
    this.#ids.add(itemId)
    dropOldest(this.#ids, MAX_IDS)
  }
}

/** Creates the id of an item or a response. */
export function newId(prefix: 'item' | 'resp'): string {
  return `${prefix}_${randomId().replaceAll('-', '')}`
}

/** A link that takes errors as they are, before clients see what they may of them. */
export interface FailingLink {
  failed(err: unknown): void
}

/** The code and message of an error, as clients may see it. */
export function shownError(
  { link }: Pick<CallScope, 'link'>,
  err: unknown
): { code: string; message: string } {
  ;(link as Partial<FailingLink>).failed?.(err)
  const { code, message } = toPartError(toStoredError(err))
  return { code, message }
}

/** Sends an error to the client; the call continues. */
export function sendError({ link }: Pick<CallScope, 'link'>, err: unknown): void {
  void link.send({ type: 'error', ...shownError({ link }, err) })
}
