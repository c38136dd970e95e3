import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'
import { dropOldest, randomId } from '@svc/contract'
import { callIdsOf } from '@svc/runtime/loop'
import type { RealtimeSocket } from './realtime-socket.ts'

/** A call of a tool, as the model makes it. Its arguments are JSON. */
export interface GivenCall {
  readonly callId: string
  readonly name: string
  readonly args: string
}

/** A call of a tool by the model; without `output`, which is JSON, until its tools are done. */
export interface ConversationCall {
  /** The id in prompts, and on connections that did not make the call. */
  readonly callId: string
  /** The id that the model gave it: other calls may have it too. */
  readonly givenId: string
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
  // Those of the calls in the prompt of the step, and of the calls since.
  #callIds = new Set<string>()

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

  /** The model has called a tool. Returns the id for prompts; undefined for a call that is open already. */
  addCall(
    { callId: givenId, name, args }: GivenCall,
    socket: RealtimeSocket | undefined
  ): string | undefined {
    if (this.#entries.some(({ call }) => call?.givenId === givenId && call.output === undefined))
      return undefined
    const callId = this.#callIds.has(givenId) ? `call_${randomId()}` : givenId
    this.#callIds.add(callId)
    const call = { callId, givenId, name, args }
    this.#entries.push({ call })
    if (socket !== undefined) this.#callers.set(call, socket)
    return callId
  }

  /** A step begins: sends the outcomes of open calls that are in its prompt. */
  addOutputs(prompt: LanguageModelV4Prompt, socket: RealtimeSocket | undefined): void {
    this.#callIds = callIdsOf(prompt)
    const open = this.#entries.flatMap(({ call }) => (call && call.output === undefined ? [call] : []))
    if (open.length === 0) return
    const outputs = toOutputs(prompt)
    for (const call of open) {
      call.output = outputs.get(call.callId)
      if (call.output !== undefined && socket !== undefined) this.#sendOutput(socket, call)
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
    const { name, output = '' } = call
    const isOwn = this.#callers.get(call) === socket
    if (isOwn || socket.abilities.items) {
      if (!isOwn) socket.sendEarlier({ call, place })
      const callId = isOwn ? call.givenId : call.callId
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
  const outputs = toOutputs(prompt)
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
        if (output === undefined) return []
        return [{ call: { callId, givenId: callId, name, args: JSON.stringify(input), output } }]
      })
    ]
  })
}

/** The text of a message, without its files. */
export function textOf({ content }: LanguageModelV4Message): string {
  if (typeof content === 'string') return content
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}

/** The outcomes of the calls in a prompt, by their ids. */
function toOutputs(prompt: readonly LanguageModelV4Message[]): Map<string, string> {
  const outputs = new Map<string, string>()
  for (const { role, content } of prompt) {
    if (role !== 'tool' && role !== 'assistant') continue
    for (const part of content)
      if (part.type === 'tool-result') outputs.set(part.toolCallId, toOutput(part.output))
  }
  return outputs
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
