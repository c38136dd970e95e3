import type { Turn } from '../conversation.ts'
import { stemsOf } from '../../../text/terms.ts'
import type { Asked, Intent } from '../intents/intent.ts'

/** What an answer about the conversation is made from. */
export interface Memory {
  turns: readonly Turn[]
  /** Everything asked before the piece to answer, in its own message too. */
  before: readonly Asked[]
  /** Index of the current turn. */
  current: number
}

type RecallIntent = Extract<Intent, { type: `recall-${string}` }>

const MAX_QUOTE = 600
const NOTHING =
  'That is the first thing you ask me in this session. To go on with an earlier one, send its `sessionId`.'

/** Answers a question about the conversation itself, by quoting it. */
export function answerRecall(intent: RecallIntent, memory: Memory): string {
  switch (intent.type) {
    case 'recall-fact':
      return recallFact(intent.key, memory)
    case 'recall-answer':
      return recallAnswer(intent.which, memory)
    case 'recall-topic':
      return recallTopic(intent, memory)
    default:
      return recallQuestion(intent.which, memory)
  }
}

function recallQuestion(
  which: number | 'last' | 'all' | 'count',
  { turns, before, current }: Memory
): string {
  const questions = before.filter(isQuestion)
  if (questions.length === 0)
    return which === 'count' ? 'This is your first question in this session.' : NOTHING
  if (which === 'last') {
    const last = questions.findLast(({ turn }) => turn < current) ?? questions.at(-1)!
    return `You asked: ${quote(turns[last.turn]?.user ?? last.text)}`
  }
  if (which === 'count') return `${questions.length}, before this one:\n\n${numbered(questions)}`
  if (which === 'all') return `You asked, in this order:\n\n${numbered(questions)}`
  const asked = questions[which - 1]
  if (asked === undefined) {
    const said = questions.length === 1 ? 'one question' : `${questions.length} questions`
    return `You have asked only ${said} before this one.`
  }
  return `Your ${which === 1 ? 'first question' : `question number ${which}`} was: ${quote(asked.text)}`
}

function recallAnswer(which: 'first' | 'last', { turns }: Memory): string {
  const answered = turns.filter(({ assistant }) => assistant !== '')
  const turn = which === 'first' ? answered[0] : answered.at(-1)
  if (turn === undefined) return 'I have said nothing before in this session.'
  return `You asked ${quote(turn.user)}, and I said:\n\n${blockquote(turn.assistant)}`
}

function recallTopic(
  { whose, topic }: Extract<Intent, { type: 'recall-topic' }>,
  { turns, before }: Memory
): string {
  const wanted = stemsOf(topic)
  const about = (text: string) => {
    const stems = new Set(stemsOf(text))
    const hits = wanted.filter((stem) => stems.has(stem)).length
    return wanted.length > 0 && hits >= wanted.length / 2
  }
  if (whose === 'question') {
    const found = before.filter((asked) => about(asked.text))
    if (found.length === 0) return `You have not asked me about “${topic}” in this session.`
    return found.length === 1 ? `You asked: ${quote(found[0]!.text)}` : `You asked:\n\n${numbered(found)}`
  }
  const turn =
    turns.findLast(({ user }) => about(user)) ?? turns.findLast(({ assistant }) => about(assistant))
  if (turn === undefined || turn.assistant === '')
    return `I have said nothing about “${topic}” in this session.`
  return `You asked ${quote(turn.user)}, and I said:\n\n${blockquote(turn.assistant)}`
}

function recallFact(key: string, { before }: Memory): string {
  const facts = before.flatMap(({ intent }) => (intent.type === 'state-fact' ? [intent] : []))
  if (key === '*') {
    if (facts.length === 0) return 'You have told me nothing about yourself in this session.'
    return `You told me:\n\n${facts.map((fact) => `- ${sentence(fact.key, fact.value)}`).join('\n')}`
  }
  const found = facts.findLast((fact) => fact.key === key || fact.key.startsWith(`${key} `))
  if (found !== undefined) return capital(sentence(found.key, found.value))
  return VERB.test(key)
    ? 'You have not told me that in this session.'
    : `You have not told me your ${key} in this session.`
}

const VERB = /^(?:live|work|come|from|like|love|prefer|am)\b/

/** What was told, seen from the other side: "your name is Ada". */
export function sentence(key: string, value: string): string {
  if (key === 'note') return `${value}.`
  if (VERB.test(key)) return `you ${key === 'from' || key === 'am from' ? 'are from' : key} ${value}.`
  return `your ${key} ${key.endsWith('s') && !key.endsWith('ss') ? 'are' : 'is'} ${value}.`
}

function isQuestion({ intent }: Asked): boolean {
  return !['small-talk', 'state-fact', 'empty', 'unclear', 'code', 'statement'].includes(intent.type)
}

function numbered(asked: readonly Asked[]): string {
  return asked
    .slice(-50)
    .map(({ text }, index) => `${index + 1}. ${shorten(text, 200)}`)
    .join('\n')
}

function quote(text: string): string {
  return `“${shorten(text.trim(), MAX_QUOTE)}”`
}

function blockquote(text: string): string {
  return shorten(text, 2000)
    .split('\n')
    .map((line) => `> ${line}`.trimEnd())
    .join('\n')
}

function shorten(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most).trimEnd()}…`
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
