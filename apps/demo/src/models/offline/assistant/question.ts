import type { Call, Outcome, Turn } from '../conversation.ts'

/** A question of a message, understood. */
export interface Question {
  /** The calls it needs, given those already made. Default: none. */
  calls?(outcomes: readonly Outcome[]): Call[]
  /** Answers it, once its calls are made. */
  answer(outcomes: readonly Outcome[]): string
  /** What is no question gets no number; a statement beside a question gets no answer either. */
  kind?: 'small-talk' | 'statement'
}

/** What a question may refer to. */
export interface Context {
  turns: readonly Turn[]
  /** The questions before it in its own message. */
  before: readonly string[]
  /** Calls of earlier turns and of the questions before it, oldest first. */
  calls: readonly Call[]
}

/** Understands a question; undefined if it is about something else. */
export type Reader = (text: string, context: Context) => Question | undefined

/** The argument of the last call of a tool. */
export function lastArgument({ calls }: Context, toolName: string, name: string): string | undefined {
  return calls.findLast((call) => call.toolName === toolName)?.args[name] as string | undefined
}

/** A question in lower case, without the marks at its end and the words that lead to it. */
export function bareOf(text: string): string {
  const lower = trimEnd(text.toLowerCase().replaceAll('’', "'"))
  return lower.replace(/^(?:(?:and|so|ok|okay|but|now|then|please|hi|hello|hey)[,!]? )+/, '')
}

/** Removes marks and spaces at the end of a text. */
export function trimEnd(text: string): string {
  return text.replace(/(?<![\s?!.,])[\s?!.,]+$/, '')
}
