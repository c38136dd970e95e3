import { stemsOf } from '../../../docs/terms.ts'
import type { Turn } from '../conversation.ts'
import { bareOf, type Context, type Reader } from './question.ts'
import { looksLikeQuestion, splitQuestions } from './split-questions.ts'

const ORDINALS = 'first second third fourth fifth sixth seventh eighth ninth tenth'.split(' ')
const MY_QUESTIONS =
  /\b(?:did|have|had) (?:i|we) (?:\w+ )?(?:ask|say|talk|discuss)|\b(?:i|we) (?:just )?(?:asked|said|discussed)|\b(?:my|our) (?:\w+ )?(?:questions?|messages?|conversation|chat)\b/
const YOUR_ANSWERS =
  /\b(?:did|have) you (?:just )?(?:say|said|answer)|\byou (?:just )?(?:said|answered)|\byour (?:\w+ )?(?:answer|reply)|^(?:please )?(?:repeat|say) (?:that|it)\b/
const ALL = /\b(?:questions|messages|conversation|chat|talk|talked|discuss|discussed)\b/
const TOPIC = /\b(?:about|regarding) (.{2,80})$/
const MAX_LISTED = 50
const NOTHING =
  'That is the first thing you ask me in this session. To continue an earlier one, send its `sessionId`.'

/** Reads questions about the conversation: what was asked, and what was answered. */
export const readRecall: Reader = (text, context) => {
  const asked = bareOf(text)
  const topic = TOPIC.exec(asked)?.[1]
  if (YOUR_ANSWERS.test(asked))
    return { answer: () => recallAnswer(context.turns, topic, /\bfirst\b/.test(asked)) }
  return MY_QUESTIONS.test(asked) ? { answer: () => recallQuestion(context, asked, topic) } : undefined
}

function recallQuestion({ turns, before }: Context, asked: string, topic: string | undefined): string {
  const questions = [...turns.map(({ user }) => user).flatMap(splitQuestions), ...before].filter(
    looksLikeQuestion
  )
  const isCount = asked.startsWith('how many')
  if (topic !== undefined) {
    const about = questions.filter((each) => isAbout(each, topic))
    return about.length === 0
      ? `You have not asked me about “${topic}” in this session.`
      : `You asked:\n\n${list(about)}`
  }
  if (questions.length === 0) return isCount ? 'This is your first question in this session.' : NOTHING
  if (isCount) return `${questions.length}, before this one:\n\n${list(questions)}`
  if (ALL.test(asked)) return `You asked, in this order:\n\n${list(questions)}`
  const nth = ordinalIn(asked)
  if (nth === undefined) return `You asked: ${quote(turns.at(-1)?.user ?? questions.at(-1)!)}`
  const question = questions[nth - 1]
  if (question === undefined) return `You have asked only ${questions.length} before this one.`
  return `Your ${nth === 1 ? 'first question' : `question number ${nth}`} was: ${quote(question)}`
}

function recallAnswer(turns: readonly Turn[], topic: string | undefined, isFirst: boolean): string {
  const answered = turns.filter(({ assistant }) => assistant !== '')
  const about = answered.filter(({ user }) => topic === undefined || isAbout(user, topic))
  const found = isFirst ? about[0] : about.at(-1)
  if (found === undefined)
    return `I have said nothing ${topic === undefined ? 'before' : `about “${topic}”`} in this session.`
  const lines = shorten(found.assistant, 2_000).split('\n')
  return `You asked ${quote(found.user)}, and I said:\n\n${lines.map((line) => `> ${line}`.trimEnd()).join('\n')}`
}

function ordinalIn(asked: string): number | undefined {
  const digits = /\b(\d{1,3})(?:st|nd|rd|th)\b/.exec(asked)?.[1]
  if (digits !== undefined) return Number(digits)
  const index = ORDINALS.findIndex((word) => asked.split(' ').includes(word))
  return index === -1 ? undefined : index + 1
}

function isAbout(text: string, topic: string): boolean {
  const stems = new Set(stemsOf(text))
  const wanted = stemsOf(topic)
  return wanted.length > 0 && wanted.filter((stem) => stems.has(stem)).length >= wanted.length / 2
}

function list(questions: readonly string[]): string {
  return questions
    .slice(-MAX_LISTED)
    .map((text, index) => `${index + 1}. ${shorten(text, 200)}`)
    .join('\n')
}

function quote(text: string): string {
  return `“${shorten(text.trim(), 600)}”`
}

function shorten(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most).trimEnd()}…`
}
