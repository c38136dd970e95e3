import { isDeepStrictEqual } from 'node:util'
import { answerCalculation } from './answers/answer-calculation.ts'
import { answerClock } from './answers/answer-clock.ts'
import { answerFromDocuments } from './answers/answer-documents.ts'
import { answerRecall, sentence } from './answers/answer-recall.ts'
import { answerForeign, answerSmallTalk } from './answers/answer-small-talk.ts'
import type { Conversation, ToolOutcome } from './conversation.ts'
import type { Asked } from './intents/intent.ts'
import { sectionsToRead } from './plan.ts'
import { MAX_MESSAGE } from './split-questions.ts'
import { MAX_PIECES, type Understanding } from './understand.ts'

const MAX_ECHO = 120
const SAME = 'As above.'

/** Writes the answer to a message from what the tools gave: one part for each of its questions, in their order. */
export function composeAnswer(conversation: Conversation, understanding: Understanding): string {
  const { pieces, earlier, leftOut } = understanding
  const said = new Set<string>()
  const answers = pieces.map((piece, index) => {
    const same = pieces.findIndex(({ intent }) => isDeepStrictEqual(intent, piece.intent))
    if (same < index) return SAME
    const answer = answerPiece(piece, [...earlier, ...pieces.slice(0, index)], conversation)
    // Two questions may find the same passage; what else there is to see is no part of it.
    const passage = /^[^]*\n\nSource: .*$/m.exec(answer)?.[0]
    if (passage === undefined || !said.has(passage)) return (said.add(passage ?? ''), answer)
    return SAME
  })
  return [...notesBefore(conversation), joinAnswers(pieces, answers), ...notesAfter(conversation, leftOut)]
    .filter((text) => text !== '')
    .join('\n\n')
}

function answerPiece({ intent, turn }: Asked, before: readonly Asked[], conversation: Conversation): string {
  const { turns, outcomes } = conversation
  switch (intent.type) {
    case 'small-talk':
    case 'capabilities':
    case 'instructions':
    case 'empty':
    case 'unclear':
    case 'code':
      return answerSmallTalk(intent)
    case 'calculate':
      return answerCalculation(intent, outcomes)
    case 'units':
      return `I calculate with plain numbers only, without units such as “${intent.unit}”. Send me the numbers, as in “5 * 1.6”.`
    case 'clock':
      return answerClock(intent, outcomes)
    case 'state-fact':
      return intent.key === 'name'
        ? `Nice to meet you, ${intent.value}.`
        : `Noted: ${sentence(intent.key, intent.value)}`
    case 'recall-fact':
    case 'recall-question':
    case 'recall-topic':
    case 'recall-answer':
      return answerRecall(intent, { turns, before, current: turn })
    case 'foreign':
      return [answerForeign(intent.language), found(intent, outcomes)].filter(Boolean).join('\n\n')
    case 'statement':
      return found(intent, outcomes) || 'I see no question in that. What would you like to know about it?'
    default:
      return answerFromDocuments(intent, outcomes)
  }
}

// Where a question is only guessed, nothing is said unless the documents have an answer.
function found(
  intent: Extract<Asked['intent'], { query: string }>,
  outcomes: readonly ToolOutcome[]
): string {
  return sectionsToRead(intent, outcomes).length === 0 ? '' : answerFromDocuments(intent, outcomes)
}

function joinAnswers(pieces: readonly Asked[], answers: readonly string[]): string {
  const asking = pieces.filter(({ intent }) => intent.type !== 'small-talk' && intent.type !== 'state-fact')
  let number = 0
  return pieces
    .map((piece, index) => {
      const answer = answers[index]!
      if (!asking.includes(piece)) return asking.length > 0 && isGreeting(piece) ? 'Hello!' : answer
      return asking.length === 1 ? answer : `**${++number}.** ${echo(piece.text)}\n\n${answer}`
    })
    .join('\n\n')
}

function isGreeting({ intent }: Asked): boolean {
  return intent.type === 'small-talk' && intent.kind === 'greeting'
}

function echo(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length <= MAX_ECHO ? line : `${line.slice(0, MAX_ECHO).trimEnd()}…`
}

function notesBefore({ files }: Conversation): string[] {
  if (files === 0) return []
  const what = files === 1 ? 'the file' : `the ${files} files`
  return [`I cannot look into ${what} that you sent: the offline model reads text only.`]
}

function notesAfter({ message }: Conversation, leftOut: number): string[] {
  const notes: string[] = []
  if (leftOut > 0)
    notes.push(`I answer ${MAX_PIECES} questions a message; please send the other ${leftOut} again.`)
  if (message.length > MAX_MESSAGE)
    notes.push(`Your message has ${message.length} characters; I read the first ${MAX_MESSAGE}.`)
  return notes
}
