import {
  ZERO_USAGE,
  type RunContext,
  type VoiceInput,
  type VoiceLink,
  type VoiceRunnable
} from '@svc/registry'
import { scriptedVoice } from '@svc/testing'

/** Milliseconds of PCM at 24,000 Hz. */
export const silence = (ms: number): Uint8Array => new Uint8Array(48 * ms)

/** What a desk was given by its client, in order. */
export interface Desk {
  readonly voice: VoiceRunnable
  readonly inputs: VoiceInput[]
  readonly links: VoiceLink[]
  /** Speech that was detected, while an answer plays. */
  interrupt(playedMs: number, text: string): Promise<void>
  /** Speech that is too short to interrupt. */
  noise(): Promise<void>
  /** Speech without words, which stops the last answer for a moment. */
  falseAlarm(playedMs: number): Promise<void>
}

/**
 * A voice for tests. It repeats what is written, `long` begins an answer that ends when it is canceled or interrupted, and `use a,b` calls
 * these tools of the client at once and says their results. Each commit is a turn.
 */
export function createDesk(name = 'desk'): Desk {
  const inputs: VoiceInput[] = []
  const links: VoiceLink[] = []
  let call: Call | undefined
  const voice = scriptedVoice(
    async function* (link, context) {
      links.push(link)
      call = new Call(link, context)
      for await (const input of link.input) {
        inputs.push(input)
        await call.take(input)
      }
      yield { type: 'text', text: 'The call is over' }
    },
    { name }
  )
  return {
    voice,
    inputs,
    links,
    interrupt: (playedMs, text) => call!.interrupt(playedMs, text),
    noise: () => call!.noise(),
    falseAlarm: (playedMs) => call!.falseAlarm(playedMs)
  }
}

class Call {
  readonly #link: VoiceLink
  readonly #context: RunContext
  #settings
  #count = 0
  #last: string | undefined
  #turn: { itemId: string; text: string } | undefined
  #audioMs = 0
  // As in a VoiceAgent: the answer continues after tools by itself.
  #continues = false
  #open: { responseId: string; itemId: string } | undefined
  #latest: { responseId: string; itemId: string } | undefined

  constructor(link: VoiceLink, context: RunContext) {
    this.#link = link
    this.#context = context
    this.#settings = link.settings
  }

  async take(input: VoiceInput): Promise<void> {
    switch (input.type) {
      case 'audio':
        this.#audioMs += input.audio.byteLength / 48
        return
      case 'configure':
        this.#settings = input.settings
        return
      case 'text':
        return this.#addTurn(input.itemId ?? this.#id('item'), input.text)
      case 'commit': {
        const itemId = this.#id('item')
        this.#continues = false
        await this.#link.send({ type: 'speech.start', itemId, atMs: 0 })
        await this.#link.send({ type: 'speech.stop', itemId, atMs: this.#audioMs })
        await this.#addTurn(itemId, undefined)
        const text = `${this.#audioMs} ms`
        await this.#link.send({ type: 'transcript', itemId, text: text.slice(0, 2), final: false })
        await this.#link.send({ type: 'transcript', itemId, text, final: true })
        this.#turn = { itemId, text }
        this.#audioMs = 0
        return this.#settings.turns?.respond === false ? undefined : this.#respond(undefined)
      }
      case 'respond':
        return this.#respond(input.modality)
      case 'cancel':
        return this.#end('canceled')
      case 'truncate':
        await this.#link.send({
          type: 'truncated',
          itemId: input.itemId,
          heardMs: input.heardMs,
          text: 'cut'
        })
        return
      default:
    }
  }

  async noise(): Promise<void> {
    const itemId = this.#id('item')
    await this.#link.send({ type: 'speech.start', itemId, atMs: 10 })
    await this.#link.send({ type: 'speech.stop', itemId, atMs: 20 })
  }

  async falseAlarm(playedMs: number): Promise<void> {
    const { itemId, responseId } = this.#latest!
    await this.#link.send({ type: 'speech.start', itemId: this.#id('item'), atMs: 10 })
    await this.#link.send({ type: 'clear', itemId, heardMs: playedMs, text: 'Hel' })
    await this.#link.send({
      type: 'audio',
      responseId,
      itemId,
      audio: silence(500 - playedMs),
      startMs: playedMs
    })
  }

  async interrupt(heardMs: number, text: string): Promise<void> {
    const { itemId } = this.#open!
    const speech = this.#id('item')
    await this.#link.send({ type: 'speech.start', itemId: speech, atMs: 100 })
    await this.#link.send({ type: 'clear', itemId, heardMs, text })
    await this.#end('interrupted')
  }

  async #addTurn(itemId: string, text: string | undefined): Promise<void> {
    this.#turn = { itemId, text: text ?? '' }
    const previousItemId = this.#last
    this.#last = itemId
    await this.#link.send({ type: 'item', itemId, previousItemId, ...(text !== undefined && { text }) })
  }

  async #respond(modality = this.#settings.modality ?? 'audio'): Promise<void> {
    if (this.#continues) {
      this.#continues = false
      return
    }
    const { text } = this.#turn ?? { text: 'nothing' }
    const tools = /^use (.+)$/.exec(text)?.[1]?.split(',')
    if (tools === undefined) await this.#say(text, modality)
    else await this.#use(tools, modality)
  }

  async #say(text: string, modality: 'audio' | 'text'): Promise<void> {
    const [responseId, itemId] = [this.#id('resp'), this.#id('item')]
    await this.#link.send({ type: 'response.start', responseId })
    await this.#link.send({ type: 'answer.start', responseId, itemId, previousItemId: this.#last, modality })
    this.#last = itemId
    this.#open = { responseId, itemId }
    this.#latest = this.#open
    for (const delta of text.match(/\S+\s*/g) ?? [])
      await this.#link.send({ type: 'text', responseId, itemId, delta })
    if (modality === 'audio')
      for (let startMs = 0; startMs < 500; startMs += 100)
        await this.#link.send({ type: 'audio', responseId, itemId, audio: silence(100), startMs })
    if (text === 'long') return
    await this.#link.send({ type: 'answer.end', responseId, itemId, text, durationMs: 500 })
    await this.#end('completed')
  }

  async #use(tools: readonly string[], modality: 'audio' | 'text'): Promise<void> {
    const responseId = this.#id('resp')
    this.#continues = true
    await this.#link.send({ type: 'response.start', responseId })
    const context = this.#context.child('turn', {
      key: responseId,
      unsourced: true,
      answersCaller: true,
      onInput: ({ request }) => {
        if (request.type !== 'input.request') return
        const { inputId, toolCallId = '', toolName = '', args } = request
        const [itemId, previousItemId] = [this.#id('item'), this.#last]
        this.#last = itemId
        const place = { responseId, itemId, previousItemId }
        void this.#link.send({ type: 'tool.call', ...place, inputId, toolCallId, toolName, args })
      }
    })
    const calling = tools.map((toolName) =>
      context.callClient({ toolCallId: this.#id('call'), toolName, args: { of: toolName } })
    )
    const begun = new Promise<void>((resolve) => setImmediate(resolve))
    await begun
    const usage = { promptTokens: 3, completionTokens: 2, totalTokens: 5, cachedPromptTokens: 1 }
    await this.#link.send({ type: 'response.end', responseId, status: 'completed', usage })
    void Promise.all(calling).then(
      (answers) => this.#say(answers.map(({ content }) => JSON.stringify(content)).join(' and '), modality),
      // The call has ended.
      () => {}
    )
  }

  async #end(status: 'completed' | 'canceled' | 'interrupted'): Promise<void> {
    const open = this.#open
    this.#open = undefined
    if (open === undefined) return
    await this.#link.send({ type: 'response.end', responseId: open.responseId, status, usage: ZERO_USAGE })
  }

  #id(kind: string): string {
    return `${kind}_${++this.#count}`
  }
}
