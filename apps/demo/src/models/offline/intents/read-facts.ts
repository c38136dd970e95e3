import { trimMarks } from '../../../text/trim-marks.ts'
import type { Before, Intent } from './intent.ts'

const NOT_A_NAME =
  /^(?:a|an|the|not|in|on|at|from|very|so|just|new|here|going|trying|looking|using|sure|sorry|lost|confused|happy|done|ready|back|curious|interested|stuck|having|getting|wondering|working)\b/i

/** Reads what users tell of themselves: "my name is Ada", "call me Ada", "remember that …". */
export function readStatedFact(text: string): Intent | undefined {
  const said = trimMarks(text.trim().replaceAll('’', "'"), '.!')
  if (said.length > 300 || said.endsWith('?')) return undefined
  const name =
    /^(?:(?:hi|hello|hey|and|no|sorry|actually|by the way|btw|please|rather)[,!.\s]+)*(?:my name(?:'s| is)|call me|i am called|i'm called|people call me|mi nombre es|ich heiße|je m'appelle)\s+(.{1,60})$/i.exec(
      said
    )
  if (name !== null) return fact('name', name[1]!)
  const self =
    /^(?:(?:hi|hello|hey|and)[,!.\s]+)*(?:i am|i'm|this is)\s+(\p{Lu}[\p{L}'-]{1,30}(?: \p{Lu}[\p{L}'-]{1,30}){0,2})$/iu.exec(
      said
    )
  if (self !== null && /^\p{Lu}/u.test(self[1]!) && !NOT_A_NAME.test(self[1]!)) return fact('name', self[1]!)
  const own =
    /^(?:(?:and|also|by the way|btw|please remember(?: that)?|remember(?: that)?|note(?: that)?)[,\s]+)*my\s+([\p{L} '-]{2,40}?)\s+(?:is|are)\s+(.{1,120})$/iu.exec(
      said
    )
  if (own !== null && !/^(?:last|first|previous|next|question)\b/i.test(own[1]!))
    return fact(own[1]!, own[2]!)
  const lives =
    /^(?:(?:and|also)[,\s]+)*i (live in|work at|work for|work as|come from|am from|like|love|prefer)\s+(.{1,80})$/i.exec(
      said
    )
  if (lives !== null) return { type: 'state-fact', key: lives[1]!.toLowerCase(), value: lives[2]!.trim() }
  const noted =
    /^(?:please )?(?:remember|note|keep in mind|don't forget)(?: that| this)?[:,]?\s+(.{3,200})$/i.exec(said)
  if (noted !== null && !/^(?:me|my (?:last|first)|what)\b/i.test(noted[1]!))
    return { type: 'state-fact', key: 'note', value: noted[1]! }
  return undefined
}

/** Reads questions for what users told: "what is my name?", "where do I live?". */
export function readAskedFact(text: string, { asked: earlier }: Before): Intent | undefined {
  const asked = trimMarks(text.trim().toLowerCase().replaceAll('’', "'"), '?!.').replace(
    /^(?:and|so|ok|okay|but|then)[,\s]+/,
    ''
  )
  if (
    /^(?:who am i|(?:do|can|did) you (?:still )?(?:know|remember|recall|tell me) (?:my name|who i am)|what am i called|(?:say|tell me) my name|wie heiße ich)$/.test(
      asked
    )
  )
    return { type: 'recall-fact', key: 'name' }
  const own =
    /^(?:do you (?:still )?(?:know|remember) |can you tell me |tell me |remind me )?(?:what|who|which)(?:'s| is| was| are| were)?\s+my\s+([\p{L} '-]{2,40}?)(?: (?:is|was|again))*$/u.exec(
      asked
    )
  if (own !== null && isPersonal(keyOf(own[1]!), earlier)) return { type: 'recall-fact', key: keyOf(own[1]!) }
  const verb =
    /^(?:where|what|who|whom)\s+do i (live|work|come|like|love|prefer)(?: (in|at|for|from|as))?$/.exec(asked)
  if (verb !== null) return { type: 'recall-fact', key: VERBS[verb[1]!] ?? verb[1]! }
  if (
    /^what (?:do you (?:know|remember) about me|did i (?:tell you|ask you to remember|say) about (?:me|myself)|should you remember|did i ask you to remember|did i tell you(?: to remember)?)$/.test(
      asked
    )
  )
    return { type: 'recall-fact', key: '*' }
  return undefined
}

// What was told, or what only a person has; "my run" and "my data" are questions for the documents.
function isPersonal(key: string, earlier: Before['asked']): boolean {
  const told = earlier.some(
    ({ intent }) => intent.type === 'state-fact' && (intent.key === key || intent.key.startsWith(`${key} `))
  )
  return (
    told ||
    /^(?:(?:nick|sur|last |middle )?name|age|job|profession|birthday|hobby|hobbies|city|country|pet|dog|cat|wife|husband|partner|employer|favorite .+|.+'s name)$/.test(
      key
    )
  )
}

const VERBS: Readonly<Record<string, string>> = { live: 'live in', work: 'work', come: 'from' }

function fact(key: string, value: string): Intent {
  return { type: 'state-fact', key: keyOf(key), value: value.trim().replace(/^["'“]|["'”]$/g, '') }
}

function keyOf(key: string): string {
  return key
    .trim()
    .toLowerCase()
    .replace(/^(?:own|new|current|full|first) (?=name)/, '')
    .replace(/\bfavourite\b/, 'favorite')
}
