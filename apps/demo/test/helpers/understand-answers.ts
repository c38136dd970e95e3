import { toGrammar } from '../../src/voice/offline/phrases.ts'
import { pocketsphinx } from '../../src/voice/offline/pocketsphinx.ts'
import { toWav, type Sound } from './sounds.ts'
import { installed } from './speech-programs.ts'
import { toSpokenWords } from './spoken-words.ts'

/**
 * Has pocketsphinx listen to answers.
 * @param texts of all answers: it understands no others
 */
export async function understandAnswers(
  sounds: readonly Sound[],
  texts: readonly string[]
): Promise<string[]> {
  const phrases = [...new Set(texts.map(toSpokenWords))]
  const listen = pocketsphinx(installed!.recognizer, toGrammar({ rules: {}, phrases }))
  const results = await Promise.all(
    sounds.map((sound) => listen.doGenerate({ audio: toWav([sound]), mediaType: 'audio/wav' }))
  )
  return results.map(({ text }) => text)
}
