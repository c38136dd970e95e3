/** Hz of what is sent. */
const RATE = 24_000
/** Samples of a message: 40 ms. */
const SIZE = 960

/** Posts the microphone as PCM with 16 bits at 24,000 Hz, whatever rate the context has. */
class Capture extends AudioWorkletProcessor {
  #samples = new Int16Array(SIZE)
  #filled = 0
  /** Where the next sample is taken, in samples of the input after the last of the block before. */
  #at = 0
  #last = 0
  #step = sampleRate / RATE

  /** @param {Float32Array[][]} inputs */
  process([input]) {
    const block = input?.[0]
    if (block === undefined) return true
    // Linear interpolation between two samples; `-1` is the last one of the block before.
    for (; this.#at < block.length; this.#at += this.#step) {
      const index = Math.floor(this.#at)
      const before = index === 0 ? this.#last : (block[index - 1] ?? 0)
      const value = before + ((block[index] ?? 0) - before) * (this.#at - index)
      this.#push(value)
    }
    this.#at -= block.length
    this.#last = block[block.length - 1] ?? 0
    return true
  }

  /** @param {number} value */
  #push(value) {
    this.#samples[this.#filled++] = Math.max(-1, Math.min(1, value)) * 32_767
    if (this.#filled < SIZE) return
    this.port.postMessage(this.#samples.buffer, [this.#samples.buffer])
    this.#samples = new Int16Array(SIZE)
    this.#filled = 0
  }
}

registerProcessor('capture', Capture)
