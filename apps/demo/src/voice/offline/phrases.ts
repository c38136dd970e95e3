/** What pocketsphinx understands: the small grammar makes it exact. All words are in its dictionary. */
interface Phrases {
  /** Names of rules, and the alternatives of each. */
  readonly rules: Readonly<Record<string, readonly string[]>>
  /** In the notation of JSGF: `<rule>` is one alternative of a rule. */
  readonly phrases: readonly string[]
}

/** What the phone of the demo can be asked. */
export const PHRASES: Phrases = {
  rules: {
    number: 'two three four five six seven eight nine ten eleven twelve twenty fifty'.split(' '),
    place: ['tokyo', 'rome', 'paris', 'london', 'berlin', 'new york', 'sydney', 'cairo', 'madrid'],
    thing: ['run', 'session', 'team', 'workflow', 'task', 'skill'],
    name: ['ada', 'grace', 'alan']
  },
  phrases: [
    'hello',
    'good morning',
    'who are you',
    'what can you do',
    'what time is it',
    'what time is it in <place>',
    'what day is it',
    'what is <number> plus <number>',
    'what is <number> minus <number>',
    'what is <number> times <number>',
    'what is <number> divided by <number>',
    'what is <number> percent of <number>',
    'and plus <number>',
    'and times <number>',
    'what is a <thing>',
    'what is an approval',
    'how do i resume a stream',
    'how do i cancel a run',
    'what did i ask before',
    'what did you say',
    'my name is <name>',
    'what is my name',
    'yes',
    'no',
    'thank you',
    'good night'
  ]
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
