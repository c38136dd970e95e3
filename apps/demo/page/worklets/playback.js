/** Blocks of 128 samples between two reports: about 100 ms at 24,000 Hz. */
const REPORT = 19

/**
 * @typedef {{ itemId: string, samples: Int16Array }} Chunk
 * @typedef {{ type: 'play' } & Chunk | { type: 'pause' | 'resume' } | { type: 'clear', id: number }} Order
 */

/** Plays chunks of answers in their order, and reports how many samples of each answer were played. */
class Playback extends AudioWorkletProcessor {
  /** @type {Chunk[]} */
  #queue = []
  #offset = 0
  #paused = false
  #itemId = ''
  #played = 0
  #blocks = 0

  constructor() {
    super()
    this.port.onmessage = (/** @type {MessageEvent<Order>} */ { data }) => this.#follow(data)
  }

  /** @param {Order} order */
  #follow(order) {
    if (order.type === 'play') this.#queue.push(order)
    else if (order.type === 'clear') {
      this.#queue = []
      this.#offset = 0
      this.#paused = false
      this.#report(order.id)
    } else this.#paused = order.type === 'pause'
  }

  /**
   * @param {unknown} _inputs
   * @param {Float32Array[][]} outputs
   */
  process(_inputs, [output]) {
    const block = output?.[0]
    if (block === undefined || this.#paused || this.#queue.length === 0) return true
    for (let index = 0; index < block.length; index++) block[index] = this.#next() / 32_768
    if (this.#queue.length === 0 || ++this.#blocks % REPORT === 0) this.#report()
    return true
  }

  #next() {
    const [chunk] = this.#queue
    if (chunk === undefined) return 0
    if (chunk.itemId !== this.#itemId) {
      this.#itemId = chunk.itemId
      this.#played = 0
    }
    const value = chunk.samples[this.#offset++] ?? 0
    this.#played++
    if (this.#offset >= chunk.samples.length) {
      this.#queue.shift()
      this.#offset = 0
    }
    return value
  }

  /** @param {number} [id] of the order that asked for it */
  #report(id) {
    const { length } = this.#queue
    this.port.postMessage({ id, itemId: this.#itemId, samples: this.#played, isIdle: length === 0 })
  }
}

registerProcessor('playback', Playback)
