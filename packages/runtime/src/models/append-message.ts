import type { LanguageModelV4Message } from '@ai-sdk/provider'
import { isBlank } from '@svc/contract'
import { wellFormed } from '../json/json.ts'
import { isEmpty } from './prompt-content.ts'

type Content = Exclude<LanguageModelV4Message, { role: 'system' }>['content']

// Conversations begin with the user for most providers.
const BEGINNING: LanguageModelV4Message = {
  role: 'user',
  content: [{ type: 'text', text: '[The conversation begins.]' }]
}

/**
 * Appends a message to a prompt as all providers take it. Every message of a prompt comes this way: blank texts are left out, and a
 * message that has nothing else; consecutive messages of one role become one; texts have no halves of surrogate pairs.
 */
export function appendMessage(
  prompt: LanguageModelV4Message[],
  given: LanguageModelV4Message | undefined
): void {
  const message = given && withoutBlanks(wellFormed(given))
  if (message === undefined) return
  const last = prompt.at(-1)
  if (message.role !== 'system' && message.role === last?.role) {
    prompt[prompt.length - 1] = {
      ...last,
      content: join(last.content, message.content, message.role)
    } as typeof message
    return
  }
  if (message.role === 'assistant' && (last === undefined || last.role === 'system')) prompt.push(BEGINNING)
  prompt.push(message)
}

function withoutBlanks(message: LanguageModelV4Message): LanguageModelV4Message | undefined {
  if (message.role === 'system') return isBlank(message.content) ? undefined : message
  if (message.role === 'tool') return message.content.length === 0 ? undefined : message
  const content = message.content.some(isEmpty)
    ? message.content.filter((part) => !isEmpty(part))
    : message.content
  // Providers take no reasoning without what it led to.
  if (content.every(({ type }) => type === 'reasoning' || type === 'custom')) return undefined
  return content === message.content ? message : ({ ...message, content } as typeof message)
}

// Some provider packages put the texts of an answer together without anything in between.
function join(before: Content, after: Content, role: string): Content {
  const last = before.at(-1)
  const [first, ...rest] = after
  if (
    role !== 'assistant' ||
    last?.type !== 'text' ||
    first?.type !== 'text' ||
    last.providerOptions ||
    first.providerOptions
  )
    return [...before, ...after] as Content
  const text = `${last.text}\n\n${first.text}`
  return [...before.slice(0, -1), { type: 'text', text }, ...rest] as Content
}
