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
  /\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instructions?|prompts?|rules)\b|\bsystem prompt\b|\b(?:hidden|secret|your) (?:instructions|prompt)\b|\byou are now\b|\bpretend to be\b|\bwords above\b|<\/?(?:system|instructions)>|\[\/?inst\]/i

const ANSWERS: readonly (readonly [said: RegExp, answer: string])[] = [
  [
    /^(?:hi|hello|hey|good (?:morning|afternoon|evening))(?: (?:there|all|again))?$/,
    'Hello! Ask me something about this service, let me calculate, or ask for the time somewhere.'
  ],
  [
    /^(?:how are you(?: today)?|what's up)$/,
    'I am well, thank you: the service is up. What would you like to know?'
  ],
  [/^(?:thanks?|thank you|thx|cheers)(?: (?:you|so much|very much|a lot|again))?$/, 'You are welcome.'],
  [
    /^(?:bye|good ?bye|good night|see you)(?: \w+)?$/,
    'Bye! To continue this session later, send the same `sessionId`.'
  ],
  [
    /^(?:ok|okay|great|cool|nice|perfect|got it|i see|yes|no|sure|fine|never ?mind|all right)$/,
    'All right. What would you like to know next?'
  ]
]
const ASKS_CAPABILITIES =
  /^(?:help(?: me)?|what (?:can|do) you (?:do|know)|what can i ask(?: you)?|who are you|what are you|what is your name|are you an? .{1,30}|which model are you|(?:can|could) you write .{1,30})$/

/** Reads what needs no look-up: greetings, questions about the model, and attempts to change its rules. */
export const readSmallTalk: Reader = (text) => {
  if (INJECTION.test(text)) return { answer: () => INSTRUCTIONS }
  const bare = text
    .toLowerCase()
    .replaceAll('’', "'")
    .replace(/[^\p{L}\p{N} ']/gu, '')
    .replace(/ +/g, ' ')
    .trim()
  if (ASKS_CAPABILITIES.test(bare) || ASKS_CAPABILITIES.test(bareOf(bare)))
    return { answer: () => CAPABILITIES }
  const answer = ANSWERS.find(([said]) => said.test(bare) || said.test(bareOf(bare)))?.[1]
  return answer === undefined ? undefined : { kind: 'small-talk', answer: () => answer }
}
