/** What the microphone of a call does. */
export class Microphone {
  #context = new AudioContext()
  /** @type {MediaStream | undefined} */
  #stream
  /** @type {Promise<void> | undefined} */
  #closed

  /**
   * Asks for the microphone and captures it until `close`; browsers remove the echo of what the page plays. Their gain control would
   * clip the first words, and their noise suppression take a quiet voice for noise: models understand the plain audio better.
   * @param {(samples: Int16Array<ArrayBuffer>) => void} onAudio gets 40 ms of PCM at 24,000 Hz at a time
   * @throws DOMException if the user denies it, or there is none
   */
  async open(onAudio) {
    this.#stream = await navigator.mediaDevices.getUserMedia({
      audio: { channelCount: 1, echoCancellation: true, noiseSuppression: false, autoGainControl: false }
    })
    await this.#context.audioWorklet.addModule(new URL('worklets/capture.js', import.meta.url))
    const capture = new AudioWorkletNode(this.#context, 'capture', { numberOfOutputs: 0 })
    capture.port.onmessage = (/** @type {MessageEvent<ArrayBuffer>} */ { data }) =>
      onAudio(new Int16Array(data))
    this.#context.createMediaStreamSource(this.#stream).connect(capture)
    await this.#context.resume()
  }

  /** Releases the microphone; safe to call twice. */
  close() {
    for (const track of this.#stream?.getTracks() ?? []) track.stop()
    return (this.#closed ??= this.#context.close())
  }
}

/**
 * The level of samples, from 0 to 1.
 * @param {Int16Array} samples
 */
export function levelOf(samples) {
  const sum = samples.reduce((total, sample) => total + (sample / 32_768) ** 2, 0)
  // From -60 to 0 dB.
  return Math.max(0, Math.min(1, 1 + Math.log10(Math.sqrt(sum / samples.length) + 1e-9) / 3))
}
