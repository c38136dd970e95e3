import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TranscriptionModelV4 } from '@ai-sdk/provider'
import type { Recognizer } from './find-programs.ts'
import { runProgram } from './run-program.ts'

/** Hz. The model of English has 16,000; more is filtered. */
const MIN_RATE = 16_000
/** Frames of 10 ms: a shorter pause does not end a phrase, and each file is one turn. */
const PAUSE = '1000'

/**
 * The program pocketsphinx as a transcription model of the AI SDK. It understands the phrases of a grammar (JSGF), in English, and takes WAV
 * with one channel of 16 bits at 16,000 Hz or more.
 * @param write makes a text of the words of a phrase
 */
export function pocketsphinx(recognizer: Recognizer, grammar: string, write = (words: string) => words) {
  return {
    specificationVersion: 'v4',
    provider: 'pocketsphinx',
    modelId: 'en-us',
    async doGenerate({ audio, mediaType, abortSignal }) {
      const wav = typeof audio === 'string' ? Buffer.from(audio, 'base64') : Buffer.from(audio)
      const rate = rateOf(wav, mediaType)
      const folder = await mkdtemp(join(tmpdir(), 'pocketsphinx-'))
      try {
        const files = { audio: join(folder, 'audio.wav'), grammar: join(folder, 'phrases.gram') }
        await Promise.all([writeFile(files.audio, wav), writeFile(files.grammar, grammar)])
        const args = argumentsFor(recognizer, files, rate)
        const output = await runProgram({ path: recognizer.path, args, signal: abortSignal })
        return {
          text: write(readText(output.toString(), recognizer)),
          segments: [],
          language: 'en',
          durationInSeconds: (wav.length - HEADER) / 2 / rate,
          warnings: [],
          response: { timestamp: new Date(), modelId: 'en-us' }
        }
      } finally {
        await rm(folder, { recursive: true, force: true })
      }
    }
  } satisfies TranscriptionModelV4
}

const HEADER = 44

function rateOf(wav: Buffer, mediaType: string): number {
  const isWav = wav.length >= HEADER && wav.toString('latin1', 0, 4) === 'RIFF'
  if (!isWav) throw new Error(`pocketsphinx takes WAV, not ${mediaType}`)
  const [channels, rate, bits] = [wav.readUInt16LE(22), wav.readUInt32LE(24), wav.readUInt16LE(34)]
  if (channels !== 1 || bits !== 16 || rate < MIN_RATE)
    throw new Error(
      `pocketsphinx takes one channel of 16 bits at ${MIN_RATE} Hz or more, not ${channels} of ${bits} at ${rate}`
    )
  return rate
}

function argumentsFor(
  { commands }: Recognizer,
  { audio, grammar }: Record<'audio' | 'grammar', string>,
  rate: number
): string[] {
  const options = ['-jsgf', grammar, '-samprate', String(rate)]
  if (commands) return [...options, 'single', audio]
  // Frames of 25.6 ms, in the next power of 2.
  const nfft = 2 ** Math.ceil(Math.log2(rate * 0.0256))
  return [
    ...options,
    '-nfft',
    String(nfft),
    '-vad_postspeech',
    PAUSE,
    '-logfn',
    '/dev/null',
    '-infile',
    audio
  ]
}

// Lines of text, of which pauses make several; in pocketsphinx 5 an object of JSON.
function readText(output: string, { commands }: Recognizer): string {
  const lines = output.split('\n').filter((line) => line.trim() !== '')
  const texts = commands ? lines.map((line) => (JSON.parse(line) as { t: string }).t) : lines
  return texts.join(' ').trim()
}
