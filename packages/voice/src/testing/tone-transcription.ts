import type {
  Experimental_TranscriptionModelV4StreamOptions as StreamOptions,
  Experimental_TranscriptionModelV4StreamPart as StreamPart,
  TranscriptionModelV4
} from '@ai-sdk/provider'
import type { AudioFormat } from '@svc/contract'
import { decodeAudio } from '../audio/codec.ts'
import { readWav } from '../audio/wav.ts'
import { behave, planCalls, type ToneCall, type ToneCalls } from './tone-speech.ts'
import { decodeTones, ToneDecoder } from './tone-codec.ts'

/** How a call of `toneTranscription` behaves. A stream waits or fails after the end of its audio. */
export interface ToneTranscriptionCall extends ToneCall {
  /** Text to answer with, whatever the audio says. */
  text?: string
}

/** Options of `toneTranscription`. */
export interface ToneTranscriptionOptions {
  /** False: no `doStream`. Default true. */
  streams?: boolean
  /** Default: it answers at once. */
  calls?: ToneCalls<ToneTranscriptionCall>
}

/** A transcription model that reads the audio of `toneSpeech` and `encodeTones`, and finds no words in any other. */
export interface ToneTranscription extends TranscriptionModelV4 {
  /** Its transcripts so far. */
  readonly texts: string[]
}

const MODEL = { provider: 'tone', modelId: 'tone-transcription' }

/** Creates a transcription model for tests. It takes WAV, and streams of PCM or G.711, from 8,000 Hz. */
export function toneTranscription(options: ToneTranscriptionOptions = {}): ToneTranscription {
  const { streams = true, calls } = options
  const nextCall = planCalls(calls)
  const texts: string[] = []

  async function doStream({ audio, inputAudioFormat, abortSignal }: StreamOptions) {
    const call = nextCall()
    const { type, rate } = inputAudioFormat as AudioFormat
    const decoder = new ToneDecoder(rate)
    let samples = 0
    let reported = ''
    const transcribe = new TransformStream<Uint8Array | string, StreamPart>({
      transform(chunk, controller) {
        const piece = decodeAudio(bytesOf(chunk), { type })
        samples += piece.length
        decoder.push(piece)
        const { text } = decoder
        if (call.text !== undefined || text === reported) return
        reported = text
        controller.enqueue({ type: 'transcript-partial', text })
      },
      async flush(controller) {
        await behave(call, abortSignal)
        const text = call.text ?? decoder.text
        texts.push(text)
        controller.enqueue({ type: 'transcript-final', text })
        controller.enqueue({ type: 'finish', text, segments: [], durationInSeconds: samples / rate })
      }
    })
    return { stream: audio.pipeThrough(transcribe, abortSignal && { signal: abortSignal }) }
  }

  return {
    specificationVersion: 'v4',
    ...MODEL,
    texts,
    async doGenerate({ audio, abortSignal }) {
      const call = nextCall()
      const { samples, rate } = readWav(bytesOf(audio))
      await behave(call, abortSignal)
      const text = call.text ?? decodeTones(samples, rate)
      texts.push(text)
      return {
        text,
        segments: [],
        language: undefined,
        durationInSeconds: samples.length / rate,
        warnings: [],
        response: { timestamp: new Date(), modelId: MODEL.modelId }
      }
    },
    ...(streams && { doStream })
  }
}

function bytesOf(audio: Uint8Array | string): Uint8Array {
  return typeof audio === 'string' ? Buffer.from(audio, 'base64') : audio
}
