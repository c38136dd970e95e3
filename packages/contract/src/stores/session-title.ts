import type { SessionMessage } from '../ports/session-store.ts'

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
