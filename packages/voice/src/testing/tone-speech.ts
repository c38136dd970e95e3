import type {
  Experimental_SpeechModelV4StreamOptions as StreamOptions,
  Experimental_SpeechModelV4StreamPart as StreamPart,
  Experimental_StreamingSpeechModelV4 as StreamingSpeechModel,
  SpeechModelV4
} from '@ai-sdk/provider'
import { encodeAudio } from '../audio/codec.ts'
import { writeWav } from '../audio/wav.ts'
import { behave, planCalls, type ToneCall, type ToneCalls } from './tone-call.ts'
import { encodeTones, ToneEncoder } from './tone-codec.ts'

/** How a call of `toneSpeech` behaves. */
export interface ToneSpeechCall extends ToneCall {
  /** Bytes to answer with, whatever was asked for. */
  audio?: Uint8Array
}

/** Options of `toneSpeech`. */
export interface ToneSpeechOptions {
  /** Hz of its audio; default 24,000. */
  rate?: number
  /** False: no `doStream`. Default true. */
  streams?: boolean
  /** Default: it answers at once. */
  calls?: ToneCalls<ToneSpeechCall>
}

/** A speech model whose audio carries its text as tones. */
export interface ToneSpeech extends SpeechModelV4, Partial<Pick<StreamingSpeechModel, 'doStream'>> {
  /** The texts of its calls so far; a streamed text appears when it is complete. */
  readonly texts: string[]
}

const MODEL = { provider: 'tone', modelId: 'tone-speech' }
const PCM = { type: 'audio/pcm' } as const

/**
 * Creates a speech model for tests, for `toneTranscription` and `decodeTones` to read: 33 bytes of text are a second. It answers
 * with WAV, or with PCM if `outputFormat` is `pcm`, and streams PCM.
 */
export function toneSpeech(options: ToneSpeechOptions = {}): ToneSpeech {
  const { rate = 24_000, streams = true, calls } = options
  const nextCall = planCalls(calls)
  const texts: string[] = []

  async function doStream({ text, abortSignal }: StreamOptions) {
    const call = nextCall()
    const encoder = new ToneEncoder(rate)
    let whole = ''
    const speak = new TransformStream<{ text: string }, StreamPart>({
      async transform(part, controller) {
        whole += part.text
        await behave(call, abortSignal)
        const audio = call.audio ?? encodeAudio(encoder.encode(part.text), PCM)
        controller.enqueue({ type: 'audio', audio, audioFormat: { ...PCM, rate } })
      },
      flush(controller) {
        texts.push(whole)
        controller.enqueue({ type: 'finish', usage: { inputCharacters: whole.length } })
      }
    })
    return { stream: text.pipeThrough(speak, abortSignal && { signal: abortSignal }) }
  }

  return {
    specificationVersion: 'v4',
    ...MODEL,
    texts,
    async doGenerate({ text, outputFormat, abortSignal }) {
      const call = nextCall()
      texts.push(text)
      await behave(call, abortSignal)
      const samples = encodeTones(text, rate)
      return {
        audio:
          call.audio ?? (outputFormat === 'pcm' ? encodeAudio(samples, PCM) : writeWav({ samples, rate })),
        usage: { inputCharacters: text.length },
        warnings: [],
        response: { timestamp: new Date(), modelId: MODEL.modelId }
      }
    },
    ...(streams && { doStream })
  }
}
