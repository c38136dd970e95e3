/** Hz of the audio of answers. */
const RATE = 24_000

/** @typedef {{ itemId: string, ms: number, isIdle: boolean }} Progress how many milliseconds of an answer were played */

/** Plays the answers of a call. */
export class Speaker {
  #context = new AudioContext({ sampleRate: RATE })
  /** @type {AudioWorkletNode | undefined} */
  #node
  /** @type {Map<number, (progress: Progress) => void>} */
  #waiting = new Map()
  #orders = 0

  /** @param {(progress: Progress) => void} onProgress about ten times a second while something is played, and at its end */
  async open(onProgress) {
    await this.#context.audioWorklet.addModule(new URL('worklets/playback.js', import.meta.url))
    this.#node = new AudioWorkletNode(this.#context, 'playback', {
      numberOfInputs: 0,
      outputChannelCount: [1]
    })
    this.#node.connect(this.#context.destination)
    this.#node.port.onmessage = ({ data: { id, itemId, samples, isIdle } }) => {
      const progress = { itemId, ms: Math.round((samples / RATE) * 1_000), isIdle }
      this.#waiting.get(id)?.(progress)
      this.#waiting.delete(id)
      if (id === undefined) onProgress(progress)
    }
    await this.#context.resume()
  }

  /**
   * Adds audio to the end of what is played.
   * @param {string} itemId
   * @param {Int16Array<ArrayBuffer>} samples
   */
  play(itemId, samples) {
    this.#node?.port.postMessage({ type: 'play', itemId, samples }, [samples.buffer])
  }

  /** Falls silent, and keeps what is left. */
  pause() {
    this.#node?.port.postMessage({ type: 'pause' })
  }

  resume() {
    this.#node?.port.postMessage({ type: 'resume' })
  }

  /**
   * Discards what is left.
   * @returns {Promise<Progress>} how far it came
   */
  clear() {
    const id = ++this.#orders
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve)
      this.#node?.port.postMessage({ type: 'clear', id })
    })
  }

  close() {
    return this.#context.close()
  }
}
