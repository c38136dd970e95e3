import loadSpeex, { type SpeexResampler } from '@echogarden/speex-resampler-wasm/simd'

/** Converts a stream of samples from one rate to another. */
export interface Resampler {
  /** The next samples of the stream; the last few milliseconds of it come with the next call. The result is the caller's. */
  push(samples: Int16Array): Int16Array
  /** The rest of the stream. The next `push` begins another. */
  flush(): Int16Array
  /** Releases its memory; safe to call twice. It must not be used after that. */
  close(): void
}

/** Opens a resampler. @param from Hz @param to Hz */
export type OpenResampler = (from: number, to: number) => Resampler

/** Enough for speech, at about 0.3 ms of CPU per second. */
const QUALITY = 3
const INPUT_SAMPLES = 4_096
const OUTPUT_SAMPLES = 32_768

let loading: Promise<OpenResampler> | undefined

/** Loads what resamplers share, once per process. */
export function loadResampler(): Promise<OpenResampler> {
  loading ??= loadSpeex().then((speex) => {
    const memory = new SharedMemory(speex)
    return (from, to) => (from === to ? new SameRate() : new SpeexStream(memory, from, to))
  })
  return loading
}

// Calls into the module are synchronous, so that all streams can share buffers.
class SharedMemory {
  readonly speex: SpeexResampler
  readonly #input: number
  readonly #output: number
  readonly #lengths: number

  constructor(speex: SpeexResampler) {
    this.speex = speex
    this.#input = speex._malloc(INPUT_SAMPLES * 2)
    this.#output = speex._malloc(OUTPUT_SAMPLES * 2)
    this.#lengths = speex._malloc(8)
  }

  // Takes some of the samples. The output is only valid until the next call.
  process(state: number, samples: Int16Array): { used: number; output: Int16Array } {
    const { speex } = this
    const at = this.#lengths >> 2
    const part = samples.subarray(0, INPUT_SAMPLES)
    speex.HEAP16.set(part, this.#input >> 1)
    speex.HEAPU32[at] = part.length
    speex.HEAPU32[at + 1] = OUTPUT_SAMPLES
    speex._speex_resampler_process_int(state, 0, this.#input, this.#lengths, this.#output, this.#lengths + 4)
    const start = this.#output >> 1
    const output = speex.HEAP16.subarray(start, start + (speex.HEAPU32[at + 1] ?? 0))
    return { used: speex.HEAPU32[at] ?? 0, output }
  }
}

class SpeexStream implements Resampler {
  readonly #memory: SharedMemory
  readonly #ratio: number
  #state: number
  // Samples of the stream so far.
  #taken = 0
  #given = 0

  constructor(memory: SharedMemory, from: number, to: number) {
    this.#memory = memory
    this.#ratio = to / from
    this.#state = memory.speex._speex_resampler_init(1, from, to, QUALITY, 0)
    if (this.#state === 0) throw new RangeError(`cannot resample from ${from} to ${to} Hz`)
    memory.speex._speex_resampler_skip_zeros(this.#state)
  }

  push(samples: Int16Array): Int16Array {
    const output = this.#process(samples)
    this.#taken += samples.length
    this.#given += output.length
    return output
  }

  flush(): Int16Array {
    const missing = Math.round(this.#taken * this.#ratio) - this.#given
    let rest = new Int16Array(0)
    // Silence pushes the rest out.
    const silence = new Int16Array(256)
    while (rest.length < missing) rest = concat(rest, this.#process(silence))
    const { speex } = this.#memory
    speex._speex_resampler_reset_mem(this.#state)
    speex._speex_resampler_skip_zeros(this.#state)
    this.#taken = 0
    this.#given = 0
    return rest.slice(0, Math.max(0, missing))
  }

  close(): void {
    if (this.#state !== 0) this.#memory.speex._speex_resampler_destroy(this.#state)
    this.#state = 0
  }

  #process(samples: Int16Array): Int16Array {
    let { used, output } = this.#memory.process(this.#state, samples)
    let all = output.slice()
    for (let at = used; at < samples.length; at += used) {
      ;({ used, output } = this.#memory.process(this.#state, samples.subarray(at)))
      all = concat(all, output)
    }
    return all
  }
}

class SameRate implements Resampler {
  push(samples: Int16Array): Int16Array {
    return samples.slice()
  }

  flush(): Int16Array {
    return new Int16Array(0)
  }

  close(): void {}
}

function concat(a: Int16Array, b: Int16Array): Int16Array<ArrayBuffer> {
  const both = new Int16Array(a.length + b.length)
  both.set(a)
  both.set(b, a.length)
  return both
}
