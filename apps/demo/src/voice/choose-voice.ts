import type {
  Experimental_RealtimeModelV4 as RealtimeModelV4,
  SpeechModelV4,
  TranscriptionModelV4
} from '@ai-sdk/provider'
import type { Env } from '../env.ts'
import { espeak } from './offline/espeak.ts'
import { findPrograms } from './offline/find-programs.ts'
import { PHRASES, suggestPhrases, toGrammar, withDigits } from './offline/phrases.ts'
import { pocketsphinx } from './offline/pocketsphinx.ts'

/** The models of the demo's calls, with a label for people. */
export interface ChosenVoice {
  readonly listen: TranscriptionModelV4
  readonly speak: SpeechModelV4
  /** Answers calls without the other two, where there is one. */
  readonly live?: RealtimeModelV4
  /** The models' ids and where they run. */
  readonly label: string
  /** What the transcription model understands, in examples; empty if that is anything. */
  readonly phrases: readonly string[]
}

const OPENAI = { listen: 'gpt-4o-mini-transcribe', speak: 'gpt-4o-mini-tts', live: 'gpt-realtime' }

/**
 * Chooses the models of calls by the environment: OpenAI's with a key of OpenAI, else espeak-ng and pocketsphinx. A server with OpenAI's
 * protocol is not asked for speech, which few of them have.
 */
export async function chooseVoice(
  { OPENAI_API_KEY, OPENAI_BASE_URL }: Pick<Env, 'OPENAI_API_KEY' | 'OPENAI_BASE_URL'>,
  variables: NodeJS.ProcessEnv = process.env
): Promise<ChosenVoice | { readonly missing: string }> {
  if (OPENAI_API_KEY !== undefined && OPENAI_BASE_URL === undefined) {
    const { createOpenAI } = await import('@ai-sdk/openai')
    const provider = createOpenAI({ apiKey: OPENAI_API_KEY })
    return {
      listen: provider.transcription(OPENAI.listen),
      speak: provider.speech(OPENAI.speak),
      live: provider.experimental_realtime(OPENAI.live, { api: 'realtime' }),
      label: `${OPENAI.listen} and ${OPENAI.speak} of OpenAI`,
      phrases: []
    }
  }
  const programs = await findPrograms(variables)
  if ('missing' in programs) return { missing: `Calls need programs for speech: ${programs.missing}` }
  return {
    listen: pocketsphinx(programs.recognizer, toGrammar(PHRASES), withDigits),
    speak: espeak(programs.espeak),
    label: 'pocketsphinx and espeak-ng (offline)',
    phrases: suggestPhrases(PHRASES)
  }
}
