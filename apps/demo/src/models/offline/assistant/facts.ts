import { bareOf, trimEnd, type Reader } from './question.ts'
import { splitQuestions } from './split-questions.ts'

interface Fact {
  key: string
  /** The fact, as said to the user: "Your name is Ada." */
  sentence: string
}

const GREETING = /^(?:(?:hi|hello|hey|and|no|actually|please|remember|that)[,!. ]+)*/i
const NAME =
  /^(?:my name(?:'s| is)|call me) (.{1,60})$|^(?:I am|I'm) (\p{Lu}[\p{L}'-]+(?: \p{Lu}[\p{L}'-]+)?)$/iu
const OWN = /^my (?!last|first|next|question)([\p{L} '-]{2,40}?) (is|are) (.{1,120})$/iu
const DOES = /^i (live|work|come|like|love|prefer) (.{1,80})$/i
const ASKS_NAME = /^who am i$|\bknow my name$/
const ASKS_OWN = /^(?:tell me )?(?:what|who)(?:'s| is| are| was) my ([\p{L} '-]{2,40}?)(?: again)?$/u
const ASKS_DOES = /^(?:where|what|who) do i (live|work|come|like|love|prefer)\b/
const ASKS_ALL = /^what do you (?:know|remember) about me$/

/** Reads what users say about themselves. */
export const readStatedFact: Reader = (text) => {
  const fact = factIn(text)
  return fact && { kind: 'statement', answer: () => `Noted: ${fact.sentence}` }
}

/** Reads questions for what users said about themselves in this session: "what is my name?", "where do I live?". */
export const readAskedFact: Reader = (text, { turns, before }) => {
  const asked = bareOf(text)
  const said = [...turns.flatMap(({ user }) => splitQuestions(user)), ...before]
  const facts = said.flatMap((each) => factIn(each) ?? [])
  if (ASKS_ALL.test(asked))
    return {
      answer: () => facts.map(({ sentence }) => sentence).join(' ') || 'You have told me nothing yet.'
    }
  const own = ASKS_OWN.exec(asked)?.[1]
  const key = ASKS_NAME.test(asked) ? 'name' : (own ?? ASKS_DOES.exec(asked)?.[1])
  const found = facts.findLast((fact) => fact.key === key)
  // "What is my run?" is for the documents.
  if (key === undefined || (found === undefined && own !== undefined && own !== 'name')) return undefined
  return {
    answer: () =>
      found?.sentence ?? `You have not told me ${own === undefined ? 'that' : `your ${own}`} in this session.`
  }
}

function factIn(text: string): Fact | undefined {
  const said = trimEnd(text.replaceAll('’', "'")).replace(GREETING, '')
  const [, given, self = given] = NAME.exec(said) ?? []
  if (text.trim().endsWith('?') || (self !== given && !/\b[Ii](?: am|'m) \p{Lu}/u.test(said)))
    return undefined
  if (self !== undefined) return { key: 'name', sentence: `Your name is ${self}.` }
  const [, own = '', is = '', value = ''] = OWN.exec(said) ?? []
  if (own !== '') return { key: own.toLowerCase(), sentence: `Your ${own} ${is} ${value}.` }
  const [, does, what] = DOES.exec(said) ?? []
  return does === undefined ? undefined : { key: does.toLowerCase(), sentence: `You ${does} ${what}.` }
}
