import { outcomeOf, type Call, type Conversation } from '../conversation.ts'
import type { Move } from '../rule-model.ts'
import { readCalculation } from './calculation.ts'
import { readClock } from './clock.ts'
import { readDocuments } from './documents.ts'
import { readAskedFact, readStatedFact } from './facts.ts'
import type { Context, Question, Reader } from './question.ts'
import { readRecall } from './recall.ts'
import { readSmallTalk } from './small-talk.ts'
import { MAX_MESSAGE, splitQuestions } from './split-questions.ts'

interface Asked {
  text: string
  question: Question
}

/** The first that understands a question answers it. */
const READERS: readonly Reader[] = [
  readSmallTalk,
  readRecall,
  readAskedFact,
  readCalculation,
  readClock,
  readStatedFact,
  readDocuments
]
const MAX_QUESTIONS = 25
const MAX_ECHO = 120
const EMPTY =
  'I find nothing in that to look up. Ask me something about this service, such as “What is a run?”'
const CODE = 'I do not read or run code. Ask me about it in words, or about the error that it gives.'
const REPEATED = 'As above.'

/** Makes the calls that the questions of a message need, then answers them in order. */
export function answerMessage(conversation: Conversation, tools: ReadonlySet<string>): Move {
  const { message, outcomes, files } = conversation
  const all = understand(conversation)
  const asked = all.slice(0, MAX_QUESTIONS)
  const calls = new Map<string, Call>()
  for (const { question } of asked)
    for (const call of question.calls?.(outcomes) ?? [])
      if (tools.has(call.toolName) && outcomeOf(outcomes, call) === undefined)
        calls.set(JSON.stringify(call), call)
  if (calls.size > 0) return { calls: [...calls.values()] }

  const answers = withoutRepetition(asked.map(({ question }) => question.answer(outcomes)))
  const notes = [
    files > 0 && 'I cannot look into the files that you sent: the offline model reads text only.',
    asked.length > 0 ? join(asked, answers) : /```|~~~/.test(message) ? CODE : EMPTY,
    all.length > MAX_QUESTIONS &&
      `I answer ${MAX_QUESTIONS} questions a message; please send the other ${all.length - MAX_QUESTIONS} again.`,
    message.length > MAX_MESSAGE &&
      `Your message has ${message.length} characters; I read the first ${MAX_MESSAGE}.`
  ]
  return { answer: notes.filter((note) => note !== false).join('\n\n') }
}

function understand({ turns, message }: Conversation): Asked[] {
  const calls: Call[] = turns.flatMap(({ outcomes }) => outcomes)
  const texts = splitQuestions(message)
    .flatMap(splitComparison)
    .slice(0, MAX_QUESTIONS * 4)
  const asked = texts.flatMap((text, index) => {
    const context = { turns, before: texts.slice(0, index), calls }
    const question = firstReading(text, context)
    if (question === undefined) return []
    calls.push(...(question.calls?.([]) ?? []))
    return [{ text, question }]
  })
  // Beside a question, a statement is only its context.
  const questions = asked.filter(({ question }) => question.kind === undefined)
  return questions.length > 0 ? asked.filter(({ question }) => question.kind !== 'statement') : asked
}

function firstReading(text: string, context: Context): Question | undefined {
  for (const read of READERS) {
    const question = read(text, context)
    if (question !== undefined) return question
  }
  return undefined
}

// "What is the difference between a run and a session?" asks for both.
function splitComparison(text: string): string[] {
  const both =
    /\bdifferences? between (.{2,40}?) and (.{2,40})\?$|^compare (.{2,40}?) (?:and|with|to) (.{2,40})$/i.exec(
      text
    )
  if (both === null || /\d|\btime\b/.test(text)) return [text]
  return both.slice(1).flatMap((each) => (each === undefined ? [] : [`What is ${each}?`]))
}

// Two questions may find the same passage.
function withoutRepetition(answers: readonly string[]): string[] {
  const passages = answers.map((answer) => answer.split('\n\nSee also: ')[0]!)
  return answers.map((answer, index) => (passages.indexOf(passages[index]!) < index ? REPEATED : answer))
}

function firstSentence(text: string): string {
  return /^.*?[.!](?= |$)/.exec(text)?.[0] ?? text
}

/** Numbers the answers if there are several questions. */
function join(asked: readonly Asked[], answers: readonly string[]): string {
  const count = asked.filter(({ question }) => question.kind === undefined).length
  let number = 0
  return asked
    .map(({ text, question }, index) => {
      const answer = answers[index]!
      if (question.kind !== undefined) return count > 0 ? firstSentence(answer) : answer
      if (count === 1) return answer
      const echo = text.length <= MAX_ECHO ? text : `${text.slice(0, MAX_ECHO).trimEnd()}…`
      return `**${++number}.** ${echo}\n\n${answer}`
    })
    .join('\n\n')
}
