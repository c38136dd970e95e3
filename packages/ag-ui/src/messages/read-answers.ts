import { defined } from '@svc/contract'
import type { GivenAnswer } from '@svc/surface'
import type { RunEvents } from '../projection/run-events.ts'
import type { AgUiMessage, ResumeEntry } from '../wire/input.ts'

/** What a request answers: interrupts by `resume`, calls of the client's tools by its last messages. */
export interface Answers {
  readonly resume: readonly ResumeEntry[]
  readonly results: readonly AgUiMessage[]
}

/** The answers of a request: the tool messages are those after the last message of another kind. */
export function answersOf(
  messages: readonly AgUiMessage[],
  resume: readonly ResumeEntry[] | null | undefined
): Answers {
  const said = messages.filter(({ role }) => role === 'user' || role === 'assistant' || role === 'tool')
  const last = said.findLastIndex(({ role }) => role !== 'tool')
  return { resume: resume ?? [], results: said.slice(last + 1) }
}

/** The run of a tool call of a thread, by its id there; undefined for ids of others. */
export function runOfCall(toolCallId: string | undefined): string | undefined {
  return /^(.+)-call-\d+$/.exec(toolCallId ?? '')?.[1]
}

/** What the answers are for, as far as the run has asked for it: the ids of the inputs, and the answers. */
export function toGivenAnswers({ resume, results }: Answers, events: RunEvents): GivenAnswer[] {
  const calls = events.askedCalls
  return [
    ...resume.map((entry) => toAnswer(entry, events.kindOf(entry.interruptId))),
    ...results.flatMap((message) => {
      const inputId = calls.get(message.toolCallId ?? '')
      return inputId === undefined ? [] : [{ inputId, answer: toResult(message) }]
    })
  ]
}

// The engine checks the types, and that the ids are of inputs that the caller may answer.
function toAnswer(
  { interruptId: inputId, status, payload }: ResumeEntry,
  kind: ReturnType<RunEvents['kindOf']>
): GivenAnswer {
  if (kind === 'approval') {
    if (status === 'cancelled') return { inputId, answer: { approved: false } }
    const given = (typeof payload === 'boolean' ? { approved: payload } : (payload ?? {})) as {
      approved: boolean
      reason?: string
      editedArgs?: Record<string, unknown>
    }
    const { approved, reason, editedArgs: args } = given
    const details = defined({ reason, args })
    return { inputId, answer: { approved, ...details } }
  }
  if (status === 'cancelled') return { inputId, answer: { action: 'cancel' } }
  return { inputId, answer: { action: 'accept', ...(payload !== undefined && { content: payload }) } }
}

// An error declines; parts of text are one text.
function toResult({ content, error }: AgUiMessage): GivenAnswer['answer'] {
  if (error !== undefined && error !== null) return { action: 'decline' }
  if (!Array.isArray(content)) return { action: 'accept', ...(content !== undefined && { content }) }
  const parts = content as { type?: unknown; text?: unknown }[]
  const isText = parts.every(({ type, text }) => type === 'text' && typeof text === 'string')
  return { action: 'accept', content: isText ? parts.map(({ text }) => text).join('\n') : parts }
}
