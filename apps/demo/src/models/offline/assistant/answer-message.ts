import { outcomeOf, type Call, type Conversation } from '../conversation.ts'
import type { Move } from '../rule-model.ts'
import { readCalculation } from './calculation.ts'
import { readClock } from './clock.ts'
import { readDocuments } from './documents.ts'
import { readAskedFact, readStatedFact } from './facts.ts'
import type { Question, Reader } from './question.ts'
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

  const answers = asked.map(({ question }) => question.answer(outcomes))
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
  const texts = splitQuestions(message).slice(0, MAX_QUESTIONS * 4)
  const asked = texts.flatMap((text, index) => {
    const context = { turns, before: texts.slice(0, index), calls }
    const question = READERS.reduce<Question | undefined>(
      (found, read) => found ?? read(text, context),
      undefined
    )
    if (question === undefined) return []
    calls.push(...(question.calls?.([]) ?? []))
    return [{ text, question }]
  })
  // Beside a question, a statement is only its context.
  const hasQuestion = asked.some(({ question }) => question.kind === undefined)
  return asked.filter(({ question }) => !hasQuestion || question.kind !== 'statement')
}

/** Numbers the answers if there are several questions. */
function join(asked: readonly Asked[], answers: readonly string[]): string {
  const count = asked.filter(({ question }) => question.kind === undefined).length
  let number = 0
  return asked
    .map(({ text, question }, index) => {
      // Two questions may find the same passage.
      const answer = answers.indexOf(answers[index]!) < index ? 'As above.' : answers[index]!
      if (question.kind !== undefined) return count > 0 ? answer.replace(/(?<=[.!]) .*$/s, '') : answer
      if (count === 1) return answer
      const echo = text.length <= MAX_ECHO ? text : `${text.slice(0, MAX_ECHO).trimEnd()}…`
      return `**${++number}.** ${echo}\n\n${answer}`
    })
    .join('\n\n')
}
