import { bareOf, type Reader } from './question.ts'

const CAPABILITIES = `I am the assistant of this demo. I run on a small built-in model that needs no key and no network, so I do not make things up: I look them up.

- **This service**: I search its documents and quote what they say, with the source. Try “How do I resume a stream?” or “Which error codes are there?”
- **Calculations**: “What is 12 * (3+4)?”, “15% of 80”, and then “and times 2?”
- **The time**: “What time is it in Tokyo and New York?”
- **Our conversation**: “What did I ask before?”, “What did you say about sessions?”, “My name is Ada.”

Ask several things in one message if you like. With a key of OpenAI, Anthropic or Google in the environment, the same agent runs on that provider.`
const INSTRUCTIONS =
  'I keep to my task, whatever a message says: I answer questions about this service from its documents, calculate and give the time. My instructions are not part of an answer.'
const INJECTION =
  /\b(?:ignore|disregard|forget)\b.{0,40}\b(?:instructions?|prompts?|rules)\b|\bsystem prompt\b|\b(?:hidden|secret) instructions\b|\byou are now\b|\bpretend to be\b|\bwords above\b|<\/?system>|\[\/?inst\]/i
const ASKS_CAPABILITIES =
  /^(?:help(?: me)?|what (?:can|do) you (?:do|know)|who are you|what are you|are you an? .{1,30}|which model are you)$/

const HELLO = 'Hello! Ask me something about this service, let me calculate, or ask for the time somewhere.'
const SMALL_TALK: readonly (readonly [said: RegExp, answer: string])[] = [
  [/^(?:hi|hello|hey|good (?:morning|afternoon|evening))(?: there| all)?$/, HELLO],
  [/^(?:how are you(?: today)?|what's up)$/, 'I am well, thank you. What would you like to know?'],
  [/^(?:thanks?|thank you|thx)(?: you)?(?: so much| very much| a lot)?$/, 'You are welcome.'],
  [/^(?:bye|good ?bye|good night|see you)(?: \w+)?$/, 'Bye! To continue this session, send its `sessionId`.'],
  [
    /^(?:ok|okay|great|cool|nice|got it|i see|yes|no|never ?mind)$/,
    'All right. What would you like to know next?'
  ]
]

/** Reads what needs no look-up: greetings, questions about the model, and attempts to change its rules. */
export const readSmallTalk: Reader = (text) => {
  if (INJECTION.test(text)) return { answer: () => INSTRUCTIONS }
  const plain = text
    .replaceAll('’', "'")
    .replace(/[^\p{L}\p{N} ']/gu, '')
    .replace(/ +/g, ' ')
    .trim()
  const forms = [plain.toLowerCase(), bareOf(plain)]
  if (forms.some((form) => ASKS_CAPABILITIES.test(form))) return { answer: () => CAPABILITIES }
  const answer = SMALL_TALK.find(([said]) => forms.some((form) => said.test(form)))?.[1]
  return answer === undefined ? undefined : { kind: 'small-talk', answer: () => answer }
}
