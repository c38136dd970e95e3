/** What pocketsphinx understands: the small grammar makes it exact. All words are in its dictionary. */
interface Phrases {
  /** Names of rules, and the alternatives of each. */
  readonly rules: Readonly<Record<string, readonly string[]>>
  /** In the notation of JSGF: `<rule>` is one alternative of a rule. */
  readonly phrases: readonly string[]
}

/** Numbers by their words. */
const NUMBERS: Readonly<Record<string, number>> = {
  two: 2,
  three: 3,
  four: 4,
  five: 5,
  six: 6,
  seven: 7,
  eight: 8,
  nine: 9,
  ten: 10,
  eleven: 11,
  twelve: 12,
  twenty: 20,
  fifty: 50
}

/** What the phone of the demo can be asked. */
export const PHRASES: Phrases = {
  rules: {
    number: Object.keys(NUMBERS),
    place: ['tokyo', 'rome', 'paris', 'london', 'berlin', 'new york', 'sydney', 'cairo', 'madrid'],
    thing: ['run', 'session', 'team', 'workflow', 'task', 'skill']
  },
  phrases: [
    'hello',
    'good morning',
    'what can you do',
    'what time is it',
    'what time is it in <place>',
    'what day is it',
    'what is <number> plus <number>',
    'what is <number> minus <number>',
    'what is <number> times <number>',
    'what is <number> divided by <number>',
    'what is <number> percent of <number>',
    'what is a <thing>',
    'what is an approval',
    'how do i resume a stream',
    'how do i cancel a run',
    'what did i ask before',
    'thank you'
  ]
}

/** Writes the numbers of a text as digits, as transcription models do. */
export function withDigits(text: string): string {
  return text.replaceAll(/[a-z]+/g, (word) => String(NUMBERS[word] ?? word))
}

/** Formats phrases as a grammar in the JSpeech Grammar Format. */
export function toGrammar({ rules, phrases }: Phrases): string {
  const lines = Object.entries(rules).map(([name, words]) => `<${name}> = ${words.join(' | ')};`)
  return ['#JSGF V1.0;', 'grammar phrases;', ...lines, `public <phrase> = ${phrases.join(' | ')};`, ''].join(
    '\n'
  )
}

/** An example of each phrase. */
export function suggestPhrases({ rules, phrases }: Phrases): string[] {
  // Not the first of each rule, so that two numbers of a phrase differ.
  let next = 0
  return phrases.map((phrase) =>
    phrase.replace(/<(\w+)>/g, (_, name: string) => {
      const words = rules[name] ?? []
      return words[++next % words.length] ?? name
    })
  )
}
