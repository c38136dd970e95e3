import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'
import { dropOldest, randomId } from '@svc/contract'
import type { RealtimeSocket } from './realtime-socket.ts'

/** A call of a tool by the model; without `output` until its tools are done. Both are JSON. */
export interface ConversationCall {
  readonly callId: string
  readonly name: string
  readonly args: string
  output?: string | undefined
}

interface Message {
  readonly role: 'user' | 'assistant'
  text: string
}

type Entry =
  | { readonly message: Message; readonly turn?: never; readonly call?: never }
  | { readonly turn: SpokenTurn; readonly message?: never; readonly call?: never }
  | { readonly call: ConversationCall; readonly message?: never; readonly turn?: never }

/** The conversation that a model must know; a new connection gets it as items or in its instructions. */
export class Conversation {
  readonly #maxEntries: number
  #entries: Entry[] = []
  // The connection that has each call as its own.
  readonly #callers = new WeakMap<ConversationCall, RealtimeSocket>()

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries
  }

  /** Adds the messages of a prompt, without its instructions. */
  load(prompt: readonly LanguageModelV4Message[]): void {
    this.#entries.push(...toEntries(prompt))
  }

  /** Adds messages before a turn, if it was spoken, and sends them to the model. */
  insert(
    messages: readonly LanguageModelV4Message[],
    turn: SpokenTurn | undefined,
    socket: RealtimeSocket | undefined
  ): void {
    const entries = toEntries(messages)
    const at = this.#entries.findIndex((entry) => entry.turn !== undefined && entry.turn === turn)
    this.#entries.splice(at < 0 ? this.#entries.length : at, 0, ...entries)
    let after = turn?.after
    for (const entry of entries) {
      const id = newItemId()
      if (socket !== undefined) this.send(socket, entry, after === undefined ? undefined : { id, after })
      if (after !== undefined) after = id
    }
  }

  addTurn(turn: SpokenTurn): void {
    this.#entries.push({ turn })
  }

  addMessage(role: Message['role'], text: string): Message {
    const message = { role, text }
    this.#entries.push({ message })
    return message
  }

  /** The model has called a tool. False for a call that is open already; ids may be used again later. */
  addCall(call: ConversationCall, socket: RealtimeSocket | undefined): boolean {
    if (this.#entries.some((entry) => entry.call?.callId === call.callId && entry.call.output === undefined))
      return false
    this.#entries.push({ call })
    if (socket !== undefined) this.#callers.set(call, socket)
    return true
  }

  /** Sends the outcomes of open calls that are in a prompt. */
  addOutputs(prompt: LanguageModelV4Prompt, socket: RealtimeSocket | undefined): void {
    const waiting = new Map<string, ConversationCall>()
    for (const { call } of this.#entries)
      if (call?.output === undefined && call) waiting.set(call.callId, call)
    if (waiting.size === 0) return
    // Of several outputs with one id, the last is that of the open call.
    const outputs = new Map(prompt.flatMap(outputsOf).map(({ callId, output }) => [callId, output]))
    for (const [callId, call] of waiting) {
      call.output = outputs.get(callId)
      if (call.output === undefined) continue
      if (socket !== undefined) this.#sendOutput(socket, call)
    }
  }

  /** The model no longer waits for the outcomes of its calls. */
  forgetCalls(): void {
    this.#entries = this.#entries.filter(({ call }) => call === undefined || call.output !== undefined)
  }

  /** What of the conversation a provider without items gets with its instructions. */
  toText(): string | undefined {
    const lines = this.#known().flatMap(toLine)
    return lines.length === 0 ? undefined : ['The conversation so far:', ...lines].join('\n')
  }

  /** Sends the conversation to a new connection; returns the turns whose audio it got, because their words are not known. */
  restore(socket: RealtimeSocket, sendAudio: (frames: readonly string[]) => void): SpokenTurn[] {
    this.#entries = this.#entries.slice(-this.#maxEntries)
    const known = socket.abilities.items ? [] : this.#known()
    const unheard: SpokenTurn[] = []
    for (const entry of this.#entries.slice(known.length)) {
      if (entry.turn !== undefined && entry.turn.text === undefined) {
        if (entry.turn.audio.length === 0) continue
        sendAudio(entry.turn.audio)
        unheard.push(entry.turn)
      } else this.send(socket, entry)
    }
    return unheard
  }

  /** Adds an entry to the conversation of a connection. */
  send(socket: RealtimeSocket, entry: Entry, place?: { id: string; after: string }): void {
    const { call, turn, message = turn && { role: 'user' as const, text: turn.text ?? '' } } = entry
    if (call !== undefined) {
      if (call.output !== undefined) this.#sendOutput(socket, call, place)
    } else if (socket.abilities.items) socket.sendEarlier({ message: message!, place })
    else if (message!.role === 'user')
      socket.send({
        type: 'conversation-item-create',
        item: { type: 'text-message', role: 'user', text: message!.text }
      })
  }

  // A connection that did not make the call gets it with its output.
  #sendOutput(socket: RealtimeSocket, call: ConversationCall, place?: { id: string; after: string }): void {
    const { callId, name, output = '' } = call
    if (this.#callers.get(call) === socket || socket.abilities.items) {
      if (this.#callers.get(call) !== socket) socket.sendEarlier({ call, place })
      this.#callers.set(call, socket)
      socket.send({
        type: 'conversation-item-create',
        item: { type: 'function-call-output', callId, name, output }
      })
      return
    }
    const [text = ''] = toLine({ call })
    socket.send({ type: 'conversation-item-create', item: { type: 'text-message', role: 'user', text } })
  }

  // Without the turns at the end, which the model has yet to answer.
  #known(): readonly Entry[] {
    const last = this.#entries.findLastIndex(({ message, turn }) => !turn && message?.role !== 'user')
    return this.#entries.slice(0, last + 1)
  }
}

const newItemId = () => `ctx_${randomId().replaceAll('-', '').slice(0, 24)}`

function toEntries(prompt: readonly LanguageModelV4Message[]): Entry[] {
  const outputs = new Map(prompt.flatMap(outputsOf).map(({ callId, output }) => [callId, output]))
  return prompt.flatMap((message): Entry[] => {
    if (message.role !== 'user' && message.role !== 'assistant') return []
    const text = textOf(message)
    const calls = message.role === 'assistant' ? message.content : []
    return [
      ...(text === '' ? [] : [{ message: { role: message.role, text } }]),
      ...calls.flatMap((part) => {
        if (part.type !== 'tool-call') return []
        const { toolCallId: callId, toolName: name, input } = part
        const output = outputs.get(callId)
        return output === undefined ? [] : [{ call: { callId, name, args: JSON.stringify(input), output } }]
      })
    ]
  })
}

/** The text of a message, without its files. */
export function textOf({ content }: LanguageModelV4Message): string {
  if (typeof content === 'string') return content
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}

function outputsOf(message: LanguageModelV4Message): { callId: string; output: string }[] {
  if (message.role !== 'tool' && message.role !== 'assistant') return []
  return message.content.flatMap((part) =>
    part.type === 'tool-result' ? [{ callId: part.toolCallId, output: toOutput(part.output) }] : []
  )
}

type ToolOutput = Extract<
  Extract<LanguageModelV4Message, { role: 'tool' }>['content'][number],
  { type: 'tool-result' }
>['output']

// Realtime models take JSON, or texts as JSON; files cannot be shown to them.
function toOutput(output: ToolOutput): string {
  if (output.type === 'content')
    return JSON.stringify(
      output.value.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join('\n')
    )
  if (output.type === 'execution-denied') return JSON.stringify({ error: output.reason ?? 'denied' })
  if (output.type === 'error-text') return JSON.stringify({ error: output.value })
  return JSON.stringify(output.type === 'error-json' ? { error: output.value } : output.value)
}

function toLine({ message, turn, call }: Entry): string[] {
  if (call !== undefined)
    return call.output === undefined ? [] : [`Tool ${call.name} ${call.args} returned ${call.output}`]
  const { role, text } = message ?? { role: 'user', text: turn.text }
  return text === undefined || text === '' ? [] : [`${role === 'user' ? 'User' : 'Assistant'}: ${text}`]
}

/** A turn of the user, as the model received it. */
export interface SpokenTurn {
  readonly itemId: string
  /** The words; undefined without a transcript. Resolves when they are complete, or will not come. */
  readonly words: Promise<string | undefined>
  /** The words, once they are complete. */
  text: string | undefined
  /** Base64 frames, until the words are known. */
  audio: readonly string[]
  /** The model's item before it, if it has items; `root` for the first one. */
  after: string | undefined
}

/** A turn whose words may still arrive. */
export interface OpenTurn extends SpokenTurn {
  readonly resolve: (words: string | undefined) => void
  /** Milliseconds of received audio. */
  readonly startMs: number
  isCommitted: boolean
}

/** Begins a turn. @param itemId default: a new one */
export function openTurn(itemId: string | undefined, startMs: number): OpenTurn {
  const { promise: words, resolve } = Promise.withResolvers<string | undefined>()
  const id = itemId ?? `item_${randomId().replaceAll('-', '')}`
  return {
    itemId: id,
    words,
    resolve,
    text: undefined,
    audio: [],
    after: undefined,
    startMs,
    isCommitted: false
  }
}

const MAX_TURNS = 256

/** The last turns of a call, by one of their ids. */
export class RecentTurns extends Map<string, OpenTurn> {
  override set(id: string, turn: OpenTurn): this {
    super.set(id, turn)
    dropOldest(this, MAX_TURNS)
    return this
  }
}
