import { dropOldest, randomId } from '@svc/contract'

/** A turn of the user, as the model received it. */
export interface SpokenTurn {
  readonly itemId: string
  /** The words; undefined without a transcript. Resolves when they are complete, or will not come. */
  readonly words: Promise<string | undefined>
  /** The words, once they are complete. */
  text: string | undefined
  /** Base64 frames, until the words are known. */
  audio: readonly string[]
  /** The model's item before it, if it has items; `root` for the first one. */
  after: string | undefined
}

/** A turn whose words may still arrive. */
export interface OpenTurn extends SpokenTurn {
  readonly resolve: (words: string | undefined) => void
  /** Milliseconds of received audio. */
  readonly startMs: number
  isCommitted: boolean
}

/** Begins a turn. @param itemId default: a new one */
export function openTurn(itemId: string | undefined, startMs: number): OpenTurn {
  const { promise: words, resolve } = Promise.withResolvers<string | undefined>()
  const id = itemId ?? `item_${randomId().replaceAll('-', '')}`
  return {
    itemId: id,
    words,
    resolve,
    text: undefined,
    audio: [],
    after: undefined,
    startMs,
    isCommitted: false
  }
}

const MAX_TURNS = 256

/** The last turns of a call, by one of their ids. */
export class RecentTurns extends Map<string, OpenTurn> {
  override set(id: string, turn: OpenTurn): this {
    super.set(id, turn)
    dropOldest(this, MAX_TURNS)
    return this
  }
}
