import { trimMarks } from '../../text/trim-marks.ts'
import type { Conversation, ToolOutcome } from './conversation.ts'
import type { Asked, Before, Intent, IntentReader } from './intents/intent.ts'
import { readCalculation } from './intents/read-calculation.ts'
import { readClock } from './intents/read-clock.ts'
import { readDocuments } from './intents/read-documents.ts'
import { readAskedFact, readStatedFact } from './intents/read-facts.ts'
import { readRecall } from './intents/read-recall.ts'
import { readResult } from './intents/read-result.ts'
import { readSmallTalk } from './intents/read-small-talk.ts'
import { readUnits } from './intents/read-units.ts'
import { splitQuestions } from './split-questions.ts'

/** Most pieces of one message that are answered. */
export const MAX_PIECES = 25

/** What a message wants, and everything that was asked before it. */
export interface Understanding {
  /** The pieces of the message to answer, in their order. */
  pieces: Asked[]
  /** Pieces of earlier turns, the oldest first. */
  earlier: Asked[]
  /** Pieces beyond MAX_PIECES. */
  leftOut: number
}

// In the order in which they are asked; the documents take what is left.
const READERS: readonly IntentReader[] = [
  readSmallTalk,
  readRecall,
  readResult,
  readAskedFact,
  readCalculation,
  readClock,
  readUnits,
  readStatedFact,
  readDocuments
]

/** Reads every message of a conversation with the same eyes; so what came before is known without any state. */
export function understand(conversation: Conversation): Understanding {
  const earlier: Asked[] = []
  const readSections: string[] = []
  conversation.turns.forEach(({ user, outcomes }, turn) => {
    earlier.push(...readMessage(user, turn, { asked: earlier, readSections }).pieces)
    readSections.push(...sectionsOf(outcomes))
  })
  const { pieces, leftOut } = readMessage(conversation.message, conversation.turns.length, {
    asked: earlier,
    readSections
  })
  return { pieces, earlier, leftOut }
}

function readMessage(
  message: string,
  turn: number,
  before: Before
): Pick<Understanding, 'pieces' | 'leftOut'> {
  const texts = splitQuestions(message).flatMap(splitComparison)
  const asked = [...before.asked]
  const pieces: Asked[] = []
  for (const text of texts.slice(0, MAX_PIECES * 4)) {
    const piece = { text, turn, intent: readPiece(text, { ...before, asked }) }
    asked.push(piece)
    pieces.push(piece)
  }
  if (pieces.length === 0)
    pieces.push({ text: message, turn, intent: { type: message.trim() === '' ? 'empty' : 'code' } })
  const kept = withoutAsides(pieces)
  return { pieces: kept.slice(0, MAX_PIECES), leftOut: Math.max(0, kept.length - MAX_PIECES) }
}

function readPiece(text: string, before: Before): Intent {
  for (const read of READERS) {
    const intent = read(text, before)
    if (intent !== undefined) return intent
  }
  return { type: 'empty' }
}

// Beside a question, what asks nothing ("I have an agent.", a smile) is no piece of its own, unless it names an error code.
// Statements alone are one.
function withoutAsides(pieces: Asked[]): Asked[] {
  const kept = pieces.filter((piece) => !isAside(piece))
  if (kept.some(({ intent }) => intent.type !== 'small-talk')) return kept
  const statement = pieces.find(({ intent }) => intent.type === 'statement')
  if (statement !== undefined) return [...kept, statement]
  return kept.length > 0 ? kept : pieces.slice(0, 1)
}

function isAside({ intent, text }: Asked): boolean {
  if (intent.type === 'small-talk') return intent.kind === 'acknowledgement'
  return intent.type === 'empty' || (intent.type === 'statement' && !/\b[A-Z]{3,4}_ERR_[A-Z]/.test(text))
}

// "What is the difference between a run and a session?" asks for both.
function splitComparison(text: string): string[] {
  const asked = trimMarks(text, '?.')
  const both =
    /\bdifferences? between (.{2,40}?) and (.{2,40})$/i.exec(asked) ??
    /^compare (.{2,40}?) (?:and|with|to) (.{2,40})$/i.exec(asked)
  if (both === null || /\d|\btime\b/.test(text)) return [text]
  return [`What is ${both[1]}?`, `What is ${both[2]}?`]
}

function sectionsOf(outcomes: readonly ToolOutcome[]): string[] {
  return outcomes
    .filter(({ toolName }) => toolName === 'read_section')
    .map(({ args }) => (args as { section: string }).section)
}
