import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage
} from '@ai-sdk/provider'
import type { GivenCall } from './conversation.ts'
import type { ResponseEnd, ResponseEvent, ResponseQueue, WantedResponse } from './response-queue.ts'
import type { RealtimeUsage } from './events.ts'

/** The call, as far as its responses need it. */
export interface ResponseSource {
  readonly provider: string
  readonly modelId: string
  readonly queue: ResponseQueue
  readonly modality: () => 'audio' | 'text'
  readonly instructions: () => string | undefined
  /** True if a response ends with its calls, before their results are known. */
  readonly pausesAtCalls: boolean
  /** Sends the model what is new in the prompt. */
  readonly prepare: (options: LanguageModelV4CallOptions) => void
  readonly onText: (itemId: string, delta: string) => void
  readonly onAudio: (itemId: string, base64: string) => void
  /** The model calls a tool. Returns an id that no other call of the prompt has; undefined if the call is known. */
  readonly onCall: (call: GivenCall) => string | undefined
  /** The connection was lost in the middle of a response. Returns true if the answer is over with what came of it. */
  readonly onRestart: () => boolean
}

type Controller = ReadableStreamDefaultController<LanguageModelV4StreamPart>

/**
 * A realtime model as a language model, so that the loop of all agents runs its turns: tools, approvals, limits, sessions. The audio of
 * an answer takes another way.
 */
export class RealtimeLanguageModel implements LanguageModelV4 {
  readonly specificationVersion = 'v4'
  readonly provider: string
  readonly modelId: string
  readonly supportedUrls = {}
  readonly #source: ResponseSource

  constructor(source: ResponseSource) {
    this.#source = source
    this.provider = source.provider
    this.modelId = source.modelId
  }

  doGenerate(): Promise<never> {
    return Promise.reject(new Error('a realtime model only streams'))
  }

  doStream(
    options: LanguageModelV4CallOptions
  ): Promise<{ stream: ReadableStream<LanguageModelV4StreamPart> }> {
    const source = this.#source
    source.prepare(options)
    let response: StreamedResponse
    const stream = new ReadableStream<LanguageModelV4StreamPart>({
      start(controller) {
        response = new StreamedResponse(source, controller)
        source.queue.request(response)
      },
      cancel: () => source.queue.cancel(response)
    })
    return Promise.resolve({ stream })
  }
}

// One response as a stream of parts.
class StreamedResponse implements WantedResponse {
  readonly answers = true
  readonly #source: ResponseSource
  readonly #controller: Controller
  readonly #calls: LanguageModelV4StreamPart[] = []
  #openText: string | undefined
  #isOver = false

  constructor(source: ResponseSource, controller: Controller) {
    this.#source = source
    this.#controller = controller
  }

  get modality(): 'audio' | 'text' {
    return this.#source.modality()
  }

  get instructions(): string | undefined {
    return this.#source.instructions()
  }

  take(event: ResponseEvent): void {
    if (event.type === 'audio-delta') this.#source.onAudio(event.itemId, event.delta)
    else if (event.type === 'function-call-arguments-done') this.#call(event)
    else if (event.type === (this.modality === 'audio' ? 'audio-transcript-delta' : 'text-delta'))
      this.#addText(event.itemId, event.delta)
  }

  restart(): boolean {
    this.#calls.length = 0
    const isOver = this.#source.onRestart()
    if (isOver) this.end({ status: 'completed' })
    return !isOver
  }

  end({ status, usage, code }: ResponseEnd): void {
    if (this.#isOver) return
    this.#isOver = true
    if (status === 'failed') {
      this.#enqueue({ type: 'error', error: Object.assign(new Error('the response failed'), { code }) })
    } else {
      this.#closeText()
      for (const call of this.#calls) this.#enqueue(call)
      this.#enqueue({ type: 'finish', finishReason: toReason(status, code), usage: toUsage(usage) })
    }
    try {
      this.#controller.close()
    } catch {
      // Its reader has left.
    }
  }

  #call({
    callId,
    name,
    arguments: args
  }: Extract<ResponseEvent, { type: 'function-call-arguments-done' }>): void {
    const { onCall, pausesAtCalls, queue } = this.#source
    const toolCallId = onCall({ callId, name, args })
    if (toolCallId === undefined) return
    this.#calls.push({ type: 'tool-call', toolCallId, toolName: name, input: args })
    // After all calls of the frame.
    if (pausesAtCalls && this.#calls.length === 1) queueMicrotask(() => queue.pause(this))
  }

  #addText(itemId: string, delta: string): void {
    if (this.#openText !== itemId) {
      this.#closeText()
      this.#openText = itemId
      this.#enqueue({ type: 'text-start', id: itemId })
    }
    this.#source.onText(itemId, delta)
    this.#enqueue({ type: 'text-delta', id: itemId, delta })
  }

  #closeText(): void {
    if (this.#openText !== undefined) this.#enqueue({ type: 'text-end', id: this.#openText })
    this.#openText = undefined
  }

  #enqueue(part: LanguageModelV4StreamPart): void {
    try {
      this.#controller.enqueue(part)
    } catch {
      // Its reader has left.
    }
  }
}

function toReason(status: ResponseEnd['status'], code: string | undefined): LanguageModelV4FinishReason {
  if (status !== 'incomplete') return { unified: 'stop', raw: code }
  return { unified: code === 'content_filter' ? 'content-filter' : 'length', raw: code }
}

function toUsage({ inputTokens, outputTokens, cachedInputTokens }: RealtimeUsage = {}): LanguageModelV4Usage {
  return {
    inputTokens: {
      total: inputTokens,
      noCache: undefined,
      cacheRead: cachedInputTokens,
      cacheWrite: undefined
    },
    outputTokens: { total: outputTokens, text: undefined, reasoning: undefined }
  }
}
