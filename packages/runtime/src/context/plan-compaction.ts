import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'
import { cutOutput } from './cut-results.ts'
import { hasSystem } from './prompt-places.ts'

/** What a compaction does to the prompt of a turn; places are indexes of messages before it. */
export interface CompactionPlaces {
  /** Results of tools before this message keep their ends only; 0: none. */
  readonly results: number
  /** The first message of the history that stays; the message to be answered if none does. */
  readonly history: number
  /** The first message of the steps that stays; the message after the one to be answered if all do. */
  readonly steps: number
}

/** The prompt to be compacted. */
export interface Compactable {
  readonly prompt: LanguageModelV4Prompt
  /** The place of the message to be answered, which stays. */
  readonly asked: number
  /** Tokens of the definitions of tools and of what a summary may take. */
  readonly fixed: number
  /** Tokens that the prompt is to have at most. */
  readonly target: number
  /** The newest messages that stay if they fit. */
  readonly keep: number
  readonly cutsResults: boolean
  /** True if messages are to go, however few tokens they have. */
  readonly mustDrop: boolean
  tokensOf(message: LanguageModelV4Message): number
}

// Steps whose results stay whole.
const WHOLE_STEPS = 2

/** Finds out what makes a prompt fit: the ends of old results, else also the oldest messages; undefined if nothing can be left out. */
export function planCompaction(given: Compactable): CompactionPlaces | undefined {
  const { prompt, asked, fixed, target, cutsResults, mustDrop } = given
  const begin = Number(hasSystem(prompt))
  const results = cutsResults ? beforeNewestSteps(prompt) : 0
  const cut = prompt.map((message, at) => (at < results ? withCutResults(message) : message))
  const tokens = cut.map((message) => given.tokensOf(message))
  const fits = ({ history, steps }: Pick<CompactionPlaces, 'history' | 'steps'>) => {
    const isLeft = (_: number, at: number) => isKept(at, begin, asked, history, steps)
    return tokens.filter(isLeft).reduce((sum, each) => sum + each, fixed) <= target
  }
  const whole = { results, history: begin, steps: asked + 1 }
  const isCut = cut.some((message, at) => message !== prompt[at])
  if (!mustDrop && isCut && fits(whole)) return whole
  let chosen: CompactionPlaces | undefined
  for (let keep = given.keep; ; keep = Math.floor(keep / 2)) {
    for (const places of placesFor(prompt, begin, asked, prompt.length - keep)) {
      if (places.history === begin && places.steps === asked + 1) continue
      chosen = { results, ...places }
      if (fits(chosen)) return chosen
    }
    if (keep === 0) return chosen ?? (isCut ? whole : undefined)
  }
}

function isKept(at: number, begin: number, asked: number, history: number, steps: number): boolean {
  return at < begin || at === asked || (at < asked ? at >= history : at >= steps)
}

/** Where a prompt may begin so that about the messages from `from` on stay: at a turn, else at a step of one. */
function placesFor(
  prompt: LanguageModelV4Prompt,
  begin: number,
  asked: number,
  from: number
): Pick<CompactionPlaces, 'history' | 'steps'>[] {
  if (from < asked) {
    const turn = lastOf(prompt, begin, from, ({ role }) => role === 'user')
    const step = lastOf(prompt, begin, from, ({ role }) => role !== 'tool')
    return [turn, step].map((history) => ({ history, steps: asked + 1 }))
  }
  const history = Math.max(asked, begin)
  // The newest step stays.
  const newest = prompt.findLastIndex(({ role }) => role === 'assistant')
  // A message that joined the run would become one with that to be answered.
  const steps = lastOf(prompt, asked + 1, Math.min(from, newest), ({ role }) => role === 'assistant')
  return [
    { history, steps: asked + 1 },
    { history, steps }
  ]
}

// The last message up to `to` at which a prompt may begin; `from` if there is none after it.
function lastOf(
  prompt: LanguageModelV4Prompt,
  from: number,
  to: number,
  fits: (message: LanguageModelV4Message) => boolean
): number {
  for (let at = Math.min(to, prompt.length - 1); at > from; at--) if (fits(prompt[at]!)) return at
  return from
}

function beforeNewestSteps(prompt: LanguageModelV4Prompt): number {
  let steps = 0
  for (let at = prompt.length - 1; at >= 0; at--)
    if (prompt[at]!.role === 'assistant' && ++steps === WHOLE_STEPS) return at
  return 0
}

/** A message whose results of tools show their ends only; the message itself if all are short. */
function withCutResults(message: LanguageModelV4Message): LanguageModelV4Message {
  if (message.role !== 'tool') return message
  const content = message.content.map((part) => {
    if (part.type !== 'tool-result') return part
    const output = cutOutput(part.output)
    return output === part.output ? part : { ...part, output }
  })
  return content.every((part, at) => part === message.content[at]) ? message : { ...message, content }
}

/** A message that a compaction leaves in a prompt, and its place before. */
export interface KeptMessage {
  readonly at: number
  readonly message: LanguageModelV4Message
}

/** The messages that a compaction leaves in a prompt. */
export function keptMessages(
  prompt: LanguageModelV4Prompt,
  asked: number,
  { results, history, steps }: CompactionPlaces
): KeptMessage[] {
  const begin = Number(hasSystem(prompt))
  return prompt.flatMap((message, at) =>
    isKept(at, begin, asked, history, steps)
      ? [{ at, message: at < results ? withCutResults(message) : message }]
      : []
  )
}

/** The messages that a compaction leaves out, oldest first; results of tools show their ends. */
export function droppedMessages(
  prompt: LanguageModelV4Prompt,
  asked: number,
  { history, steps }: CompactionPlaces
): LanguageModelV4Message[] {
  const begin = Number(hasSystem(prompt))
  return prompt.filter((_, at) => !isKept(at, begin, asked, history, steps)).map(withCutResults)
}
