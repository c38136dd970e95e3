import { stemsOf } from '../../../docs/terms.ts'
import { bareOf, type Context, type Reader } from './question.ts'
import { looksLikeQuestion, splitQuestions } from './split-questions.ts'

const ORDINALS = 'first second third fourth fifth sixth seventh eighth ninth tenth'.split(' ')
const MY_QUESTIONS =
  /\b(?:did|have) (?:i|we) (?:\w+ )?(?:ask|say|talk|discuss)|\b(?:i|we) (?:asked|said|discussed)|\b(?:my|our) (?:\w+ )?(?:questions?|messages?|conversation)\b/
const YOUR_ANSWERS = /\bdid you (?:just )?(?:say|answer)|\byour (?:\w+ )?answer|^(?:repeat|say) (?:that|it)\b/
const ALL = /\b(?:questions|messages|conversation|talk|discuss(?:ed)?)\b/
const TOPIC = /\babout (.{2,80})$/
const MAX_LISTED = 50
const MAX_QUOTE = 600

/** Reads questions about the conversation: what was asked, and what was answered. */
export const readRecall: Reader = (text, context) => {
  const asked = bareOf(text)
  if (YOUR_ANSWERS.test(asked)) return { answer: () => recallAnswer(asked, context) }
  return MY_QUESTIONS.test(asked) ? { answer: () => recallQuestion(asked, context) } : undefined
}

function recallQuestion(asked: string, { turns, before }: Context): string {
  const texts = [...turns.flatMap(({ user }) => splitQuestions(user)), ...before]
  const questions = texts.filter((each) => looksLikeQuestion(each) && isAbout(each, asked))
  const list = questions.map((each, index) => `${index + 1}. ${shorten(each)}`).slice(-MAX_LISTED)
  const topic = TOPIC.exec(asked)?.[1]
  if (topic !== undefined && list.length === 0)
    return `You have not asked me about “${topic}” in this session.`
  if (list.length === 0)
    return 'That is the first thing you ask me in this session. To continue an earlier one, send its `sessionId`.'
  if (topic !== undefined || ALL.test(asked))
    return `You asked ${list.length} before this one:\n\n${list.join('\n')}`
  const digits = /\b(\d{1,3})(?:st|nd|rd|th)\b/.exec(asked)?.[1]
  const nth = digits === undefined ? ORDINALS.findIndex((word) => asked.includes(word)) + 1 : Number(digits)
  if (nth === 0) return `You asked: “${shorten(turns.at(-1)?.user ?? questions.at(-1)!)}”`
  const question = questions[nth - 1]
  if (question === undefined) return `You have asked only ${questions.length} before this one.`
  return `Your ${nth === 1 ? 'first question' : `question number ${nth}`} was: “${shorten(question)}”`
}

function recallAnswer(asked: string, { turns }: Context): string {
  const found = turns.filter(({ user, assistant }) => assistant !== '' && isAbout(user, asked))
  const turn = asked.includes('first') ? found[0] : found.at(-1)
  if (turn === undefined) return 'I have said nothing about that in this session.'
  return `You asked “${shorten(turn.user)}”, and I said:\n\n${turn.assistant.replace(/^/gm, '> ')}`
}

/** True if a text has half of the words that a question is about, if it is about any. */
function isAbout(text: string, asked: string): boolean {
  const wanted = stemsOf(TOPIC.exec(asked)?.[1] ?? '')
  const stems = new Set(stemsOf(text))
  return wanted.filter((stem) => stems.has(stem)).length >= wanted.length / 2
}

function shorten(text: string): string {
  return text.length <= MAX_QUOTE ? text.trim() : `${text.slice(0, MAX_QUOTE).trim()}…`
}
