import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider'

type StreamPart = LanguageModelV4StreamPart

/** The stop sequences that a provider is sent: some refuse more, or blank ones. */
const MAX_SENT = 4

/** What a dropped part leaves: a sign that the model is at work. */
const SIGN: StreamPart = { type: 'raw', rawValue: undefined }

/**
 * A model whose answers end at the first stop text, whether its provider ends them there or not: the text from there on is left out, and
 * so is everything after it but the usage. What may be the beginning of a stop text is held back until it is clear.
 */
export function stopAt(model: LanguageModelV4, stop: readonly string[]): LanguageModelV4 {
  return new StoppingModel(model, stop)
}

// A class: V8 keeps a getter of an object literal, with all that it refers to, until the next full garbage collection.
class StoppingModel implements LanguageModelV4 {
  readonly specificationVersion = 'v4'
  readonly provider: string
  readonly modelId: string
  readonly #model: LanguageModelV4
  readonly #stop: readonly string[]

  constructor(model: LanguageModelV4, stop: readonly string[]) {
    this.#model = model
    this.#stop = stop
    this.provider = model.provider
    this.modelId = model.modelId
  }

  get supportedUrls(): LanguageModelV4['supportedUrls'] {
    return this.#model.supportedUrls
  }

  doGenerate(options: LanguageModelV4CallOptions) {
    return this.#model.doGenerate(options)
  }

  async doStream(options: LanguageModelV4CallOptions) {
    const own = options.stopSequences ?? []
    const sent = new Set([...own, ...this.#stop.filter((text) => text.trim() !== '')])
    const stopSequences = [...sent].slice(0, Math.max(MAX_SENT, own.length))
    const { stream, ...rest } = await this.#model.doStream({ ...options, stopSequences })
    const cut = new StopCut(this.#stop)
    const transform = new TransformStream<StreamPart, StreamPart>({
      transform(part, controller) {
        for (const each of cut.take(part)) controller.enqueue(each)
      }
    })
    return { ...rest, stream: stream.pipeThrough(transform) }
  }
}

class StopCut {
  readonly #stop: readonly string[]
  // Parts that follow what is clear: increments that may begin a stop text, and the borders of their blocks.
  #held: StreamPart[] = []
  #text = ''
  #isCut = false

  constructor(stop: readonly string[]) {
    this.#stop = stop
  }

  take(part: StreamPart): StreamPart[] {
    if (this.#isCut) return this.#afterCut(part)
    switch (part.type) {
      case 'text-delta':
        return this.#extend(part)
      case 'text-start':
      case 'text-end':
        return this.#text === '' ? [part] : this.#hold(part)
      case 'ping':
      case 'raw':
      case 'response-metadata':
        return [part]
      default:
        return [...this.#release(this.#text.length), part]
    }
  }

  #hold(part: StreamPart): StreamPart[] {
    this.#held.push(part)
    return [SIGN]
  }

  #extend(part: Extract<StreamPart, { type: 'text-delta' }>): StreamPart[] {
    this.#held.push(part)
    this.#text += part.delta
    const places = this.#stop.map((text) => this.#text.indexOf(text)).filter((at) => at >= 0)
    this.#isCut = places.length > 0
    const clear = this.#isCut ? Math.min(...places) : this.#text.length - this.#overlap()
    const released = this.#release(clear)
    return released.length === 0 ? [SIGN] : released
  }

  // How many characters at the end may begin a stop text.
  #overlap(): number {
    let most = 0
    for (const text of this.#stop)
      for (let length = Math.min(text.length - 1, this.#text.length); length > most; length--)
        if (this.#text.endsWith(text.slice(0, length))) most = length
    return most
  }

  // Lets go of so many characters, and of the borders between them.
  #release(length: number): StreamPart[] {
    const released: StreamPart[] = []
    let left = length
    while (this.#held.length > 0) {
      const part = this.#held[0]!
      if (part.type !== 'text-delta') {
        if (left === 0 && this.#text.length > length) break
        released.push(part)
      } else if (part.delta.length <= left) {
        released.push(part)
        left -= part.delta.length
      } else {
        if (left > 0) released.push({ ...part, delta: part.delta.slice(0, left) })
        this.#held[0] = { ...part, delta: part.delta.slice(left) }
        break
      }
      this.#held.shift()
    }
    this.#text = this.#text.slice(length)
    return released
  }

  #afterCut(part: StreamPart): StreamPart[] {
    switch (part.type) {
      case 'finish':
        return [{ ...part, finishReason: { ...part.finishReason, unified: 'stop' } }]
      case 'response-metadata':
      case 'error':
        return [part]
      default:
        return [SIGN]
    }
  }
}
