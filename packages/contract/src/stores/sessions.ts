import type { SessionMessage } from '../ports/session-store.ts'

/** Listeners by the keys of sessions, called when a run entered. */
export class SessionFollowers {
  readonly #followers = new Map<string, Set<() => void>>()

  /** The sessions that have listeners. */
  get keys(): string[] {
    return [...this.#followers.keys()]
  }

  /** Adds a listener, until the returned function is called. */
  follow(sessionKey: string, listener: () => void): () => void {
    const followers = this.#followers.get(sessionKey) ?? new Set()
    // An object of its own: the same function may follow twice.
    const own = () => listener()
    this.#followers.set(sessionKey, followers.add(own))
    return () => {
      followers.delete(own)
      if (followers.size === 0 && this.#followers.get(sessionKey) === followers)
        this.#followers.delete(sessionKey)
    }
  }

  notify(sessionKey: string): void {
    for (const listener of this.#followers.get(sessionKey) ?? []) listener()
  }

  notifyAll(): void {
    for (const key of this.keys) this.notify(key)
  }
}

/** The maximum length of a title that is taken from a message, in characters. */
const MAX_TITLE = 80
// Characters of a message that are looked at: more than a title and the space before it need.
const BEGINNING = 1_000

/** A title from the first user message with text, on one line; null if there is none. */
export function titleOf(messages: readonly SessionMessage[]): string | null {
  for (const message of messages) {
    if (message.role !== 'user') continue
    const title = shorten(textOf(message.content))
    if (title !== '') return title
  }
  return null
}

/** True for a turn of a run of its own, not of a member or a step: then its session is listed. */
export function isOwnTurn(turnId: string): boolean {
  return !turnId.includes('/')
}

/** The run that saved a turn. */
export function runIdOfTurn(turnId: string): string {
  const slash = turnId.indexOf('/')
  return slash < 0 ? turnId : turnId.slice(0, slash)
}

function textOf(content: Extract<SessionMessage, { role: 'user' }>['content']): string {
  if (typeof content === 'string') return content
  const text = content.find((part) => part.type === 'text')
  return text !== undefined && 'text' in text ? text.text : ''
}

function shorten(text: string): string {
  const line = text.slice(0, BEGINNING).replaceAll(/\s+/g, ' ').trim()
  if (line.length <= MAX_TITLE) return line.toWellFormed()
  const space = line.lastIndexOf(' ', MAX_TITLE - 1)
  const end = space > MAX_TITLE / 2 ? space : MAX_TITLE - 1
  return `${line.slice(0, end).replace(/[\ud800-\udbff]$/, '')}…`
}

// Longer runs of letters are encoded data or keys.
const MOST_CHARACTERS = 64

/** The words of a text, in lower case. */
export function wordsOf(text: string): Set<string> {
  const words = new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu))
  for (const word of words) if (word.length > MOST_CHARACTERS) words.delete(word)
  return words
}

/** The weight of a word that `having` of `items` items contain: the inverse document frequency of BM25. */
export function weighWord(items: number, having: number): number {
  return Math.log(1 + (items - having + 0.5) / (having + 0.5))
}
