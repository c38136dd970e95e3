import type { SharedV4Warning, SpeechModelV4 } from '@ai-sdk/provider'
import { runProgram } from './run-program.ts'

/** Words a minute at speed 1: slow enough for pocketsphinx to understand. */
const WORDS_PER_MINUTE = 140
const DEFAULT_VOICE = 'en-us+f3'
/** A name, not the path of a file: a language, and a variant after the plus sign. */
const VOICE = /^[a-z]{2,3}(?:-[a-z0-9]+)*(?:\+[a-z0-9]+)?$/i
const MAX_TEXT = 5_000

/** The program espeak-ng as a speech model of the AI SDK: WAV with one channel at 22,050 Hz. */
export function espeak(path: string) {
  return {
    specificationVersion: 'v4',
    provider: 'espeak-ng',
    modelId: 'espeak-ng',
    async doGenerate({ text, voice = DEFAULT_VOICE, speed = 1, outputFormat = 'wav', abortSignal }) {
      if (!VOICE.test(voice)) throw new Error(`espeak-ng has no voice "${voice}"; one is "${DEFAULT_VOICE}"`)
      if (text.length > MAX_TEXT)
        throw new Error(`A text has ${text.length} characters; the most is ${MAX_TEXT}`)
      const rate = Math.round(Math.min(Math.max(speed, 0.6), 3) * WORDS_PER_MINUTE)
      const args = ['-v', voice, '-s', String(rate), '--stdin', '--stdout']
      const audio = await runProgram({ path, args, input: text, signal: abortSignal })
      const warnings: SharedV4Warning[] =
        outputFormat === 'wav'
          ? []
          : [{ type: 'unsupported', feature: 'outputFormat', details: 'It is WAV.' }]
      return {
        audio: completeHeader(audio),
        warnings,
        response: { timestamp: new Date(), modelId: 'espeak-ng' }
      }
    }
  } satisfies SpeechModelV4
}

const HEADER = 44

// A program that writes to a pipe cannot know the sizes when it writes the header.
function completeHeader(wav: Buffer): Buffer {
  if (wav.length < HEADER) throw new Error('espeak-ng wrote no audio')
  wav.writeUInt32LE(wav.length - 8, 4)
  wav.writeUInt32LE(wav.length - HEADER, HEADER - 4)
  return wav
}
