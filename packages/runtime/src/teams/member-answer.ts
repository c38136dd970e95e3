import type { Runnable, RunResult } from '@svc/registry'
import { toPartError, toStoredError } from '@svc/registry/kit'
import type { MemberAnswer } from './team-options.ts'

/** What a member answered. */
export function toAnswer({ kind, name }: Runnable, { text, structured }: RunResult): MemberAnswer {
  return { kind, member: name, text, structured }
}

/** That a member failed, as everyone may know it. */
export function toFailedAnswer({ kind, name }: Runnable, err: unknown): MemberAnswer {
  return { kind, member: name, text: '', structured: null, error: toPartError(toStoredError(err)) }
}

/** What a model, or the next member, is told of an answer. */
export function contentOf({ text, structured }: Pick<RunResult, 'text' | 'structured'>): unknown {
  return structured ?? text
}
