import { toPartError, toStoredError, type Runnable, type RunResult } from '@svc/contract'
import type { MemberAnswer } from './team-options.ts'

/** The answer of a member. */
export function toAnswer({ kind, name }: Runnable, { text, structured }: RunResult): MemberAnswer {
  return { kind, member: name, text, structured }
}

/** The answer of a member that failed; its error is public. */
export function toFailedAnswer({ kind, name }: Runnable, err: unknown): MemberAnswer {
  return { kind, member: name, text: '', structured: null, error: toPartError(toStoredError(err)) }
}

/** The part of an answer that a model or the next member receives. */
export function contentOf({ text, structured }: Pick<RunResult, 'text' | 'structured'>): unknown {
  return structured ?? text
}

/** An answer as a message, which is a text. */
export function toMessageText({ text, structured }: Pick<RunResult, 'text' | 'structured'>): string {
  return text === '' && structured !== null ? JSON.stringify(structured) : text
}

/** Lists the members for the leader's prompt. */
export function listMembers(members: readonly Runnable[], names = members.map(({ name }) => name)): string {
  return members
    .map(({ kind, description }, index) => `- ${names[index]}: ${description ?? `a ${kind}`}`)
    .join('\n')
}
