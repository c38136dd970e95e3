import { hash } from 'node:crypto'
import { setNewest } from '@svc/registry/kit'
import type { AgentCard } from '../model/agent-card.ts'

/** Cards whose last change is known; one that is dropped counts as changed. */
const MAX_CARDS = 4_096
const SECOND = 1_000

/** When cards last changed, as far as this process has seen: for `Last-Modified`, which has whole seconds. */
export class CardChanges {
  readonly #seen = new Map<string, { content: string; at: number }>()

  /** The time of the last change of a card, in milliseconds. Two changes have two times, so the second may be ahead of the clock. */
  timeOf(id: string, { urls: _, ...card }: AgentCard): number {
    // Where a request reaches the service is no content of the card.
    const content = hash('sha256', JSON.stringify(card), 'base64url')
    const known = this.#seen.get(id)
    if (known?.content === content) return known.at
    const at = Math.max(floor(Date.now()), known === undefined ? 0 : known.at + SECOND)
    setNewest(this.#seen, id, { content, at }, MAX_CARDS)
    return at
  }
}

function floor(time: number): number {
  return time - (time % SECOND)
}
