import { setTimeout as wait } from 'node:timers/promises'
import type {
  SpeechModelV4,
  Experimental_StreamingSpeechModelV4 as StreamingSpeechModel,
  Experimental_SpeechModelV4StreamOptions as StreamOptions,
  Experimental_SpeechModelV4StreamPart as StreamPart
} from '@ai-sdk/provider'
import { encodeAudio } from '../audio/codec.ts'
import { writeWav } from '../audio/wav.ts'
import { encodeTones, ToneEncoder } from './tone-codec.ts'

/** How a call of a model for tests behaves, other than answering at once. */
export interface ToneCall {
  /** Milliseconds until it answers; of streamed speech, before each piece. */
  delay?: number
  /** Fails with this error. */
  rejects?: Error
  /** Never answers; only an abort ends it. */
  hangs?: boolean
}

/** The same for every call, or by the index of the call, from 0. */
export type ToneCalls<Call extends ToneCall> = Call | ((index: number) => Call | undefined)

/** Gives each call its behavior, in order. */
export function planCalls<Call extends ToneCall>(calls: ToneCalls<Call> | undefined): () => Partial<Call> {
  let index = 0
  return () => (typeof calls === 'function' ? calls(index++) : calls) ?? {}
}

/** Waits, fails or hangs as the call has to. */
export async function behave(
  { delay = 0, rejects, hangs = false }: ToneCall,
  signal: AbortSignal | undefined
): Promise<void> {
  signal?.throwIfAborted()
  if (hangs) await wait(2 ** 31 - 1, undefined, { ...(signal && { signal }), ref: false })
  if (delay > 0) await wait(delay, undefined, signal && { signal })
  if (rejects !== undefined) throw rejects
}

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
