import { VoidableList, type PartOf } from '@svc/contract'
import type { ItemEvent } from '../wire/response-events.ts'
import type {
  FunctionCallItem,
  ItemStatus,
  McpCallItem,
  MessageItem,
  MessagePhase,
  OutputItem,
  OutputText,
  ReasoningItem,
  UrlCitation
} from '../wire/response-items.ts'

/** A text under way: of a message, or of reasoning. */
export interface OpenText {
  readonly item: MessageItem | ReasoningItem
  readonly index: number
  readonly texts: string[]
  readonly annotations: UrlCitation[]
  length: number
}

/** The place of a call under way. */
export interface OpenCall<T extends FunctionCallItem | McpCallItem = FunctionCallItem | McpCallItem> {
  readonly item: T
  readonly index: number
}

/** The items of one response: each is added, filled and done, in this order. */
export class OutputItems {
  #listed = new VoidableList<OutputItem>()
  readonly #dropped = new Set<OutputItem>()
  #added = 0
  #open: OpenText | undefined

  /** The items that count, in order; a text under way as far as it is. */
  get output(): OutputItem[] {
    return this.#listed.values.filter((item) => !this.#dropped.has(item)).map((item) => this.#shown(item))
  }

  /** The next response begins, without items. */
  clear(): void {
    this.#listed = new VoidableList()
    this.#dropped.clear()
    this.#added = 0
  }

  /** Continues the message under way, and returns it; undefined if there is none. */
  extend(text: string): OpenText | undefined {
    const open = this.#open
    if (open?.item.type !== 'message') return undefined
    open.texts.push(text)
    open.length += text.length
    return open
  }

  /** A step begins; if it is repeated, the items of its earlier attempt do not count. */
  begin(part: PartOf<'step.start'>): void {
    this.#listed.begin(part)
  }

  finish(part: PartOf<'finish'>): void {
    this.#listed.finish(part)
  }

  /** Adds an increment of a message or of reasoning, which begins one if none is under way. */
  text(type: 'message' | 'reasoning', id: string, delta: string): { open: OpenText; events: ItemEvent[] } {
    const { open, events } = this.#require(type, id)
    const { item, index, texts } = open
    texts.push(delta)
    open.length += delta.length
    const place = { item_id: item.id, output_index: index, content_index: 0 } as const
    events.push(
      type === 'message'
        ? { type: 'response.output_text.delta', ...place, delta, logprobs: [] }
        : { type: 'response.reasoning_text.delta', ...place, delta }
    )
    return { open, events }
  }

  /** Adds a source or a file at the end of the message so far. */
  cite(id: string, { url, title }: Pick<UrlCitation, 'url' | 'title'>): ItemEvent[] {
    const { open, events } = this.#require('message', id)
    const { item, index, annotations, length } = open
    const annotation: UrlCitation = {
      type: 'url_citation',
      url,
      title,
      start_index: length,
      end_index: length
    }
    annotations.push(annotation)
    events.push({
      type: 'response.output_text.annotation.added',
      item_id: item.id,
      output_index: index,
      content_index: 0,
      annotation_index: annotations.length - 1,
      annotation
    })
    return events
  }

  /** Ends the text under way. @param phase of a message */
  close(status: ItemStatus = 'completed', phase?: MessagePhase): ItemEvent[] {
    const open = this.#open
    if (open === undefined) return []
    const { item, index } = open
    const place = { item_id: item.id, output_index: index, content_index: 0 } as const
    const whole = this.#shown(item) as MessageItem | ReasoningItem
    this.#open = undefined
    Object.assign(item, whole, { status })
    if (item.type === 'message' && phase !== undefined) item.phase = phase
    const [part] = item.content as [OutputText]
    const { text } = part
    return [
      item.type === 'message'
        ? { type: 'response.output_text.done', ...place, text, logprobs: [] }
        : { type: 'response.reasoning_text.done', ...place, text },
      { type: 'response.content_part.done', ...place, part },
      { type: 'response.output_item.done', output_index: index, item: { ...item } }
    ]
  }

  /** Adds an item that is whole. */
  add(item: OutputItem, source?: readonly string[]): ItemEvent[] {
    const index = this.#list(item, source)
    return [
      { type: 'response.output_item.added', output_index: index, item: begun(item) },
      { type: 'response.output_item.done', output_index: index, item }
    ]
  }

  /** Begins a call whose arguments follow. */
  beginCall<T extends FunctionCallItem | McpCallItem>(
    item: T,
    source?: readonly string[]
  ): [OpenCall<T>, ItemEvent[]] {
    const index = this.#list(item, source)
    const events: ItemEvent[] = [
      { type: 'response.output_item.added', output_index: index, item: { ...item } }
    ]
    if (item.type === 'mcp_call')
      events.push({ type: 'response.mcp_call.in_progress', item_id: item.id, output_index: index })
    return [{ item, index }, events]
  }

  /** Adds to the arguments of a call. */
  extendCall({ item, index }: OpenCall, delta: string): ItemEvent {
    item.arguments += delta
    const place = { item_id: item.id, output_index: index, delta }
    return item.type === 'mcp_call'
      ? { type: 'response.mcp_call_arguments.delta', ...place }
      : { type: 'response.function_call_arguments.delta', ...place }
  }

  /** Ends the arguments of a call. */
  endArguments({ item, index }: OpenCall, args: string): ItemEvent {
    item.arguments = args
    const place = { item_id: item.id, output_index: index }
    return item.type === 'mcp_call'
      ? { type: 'response.mcp_call_arguments.done', ...place, arguments: args }
      : { type: 'response.function_call_arguments.done', ...place, name: item.name, arguments: args }
  }

  /** Ends a call whose arguments are complete. */
  endCall<T extends FunctionCallItem | McpCallItem>(
    { item, index }: OpenCall<T>,
    end: Partial<T>
  ): ItemEvent[] {
    Object.assign(item, end)
    const events: ItemEvent[] = []
    if (item.type === 'mcp_call' && (item.status === 'completed' || item.status === 'failed'))
      events.push({ type: `response.mcp_call.${item.status}`, item_id: item.id, output_index: index })
    events.push({ type: 'response.output_item.done', output_index: index, item: { ...item } })
    return events
  }

  /** Takes an item out of the response: a text that was not spoken, or a call under way, which a later response has, whole. */
  drop(item: OutputItem): void {
    this.#dropped.add(item)
  }

  #require(type: 'message' | 'reasoning', id: string): { open: OpenText; events: ItemEvent[] } {
    if (this.#open?.item.type === type) return { open: this.#open, events: [] }
    const events = this.close('completed', 'commentary')
    const item: MessageItem | ReasoningItem =
      type === 'message'
        ? { type, id: `msg_${id}`, status: 'in_progress', role: 'assistant', content: [] }
        : { type, id: `rs_${id}`, status: 'in_progress', summary: [], content: [] }
    const index = this.#list(item)
    const open: OpenText = { item, index, texts: [], annotations: [], length: 0 }
    this.#open = open
    const part = type === 'message' ? toText('', []) : ({ type: 'reasoning_text', text: '' } as const)
    events.push(
      { type: 'response.output_item.added', output_index: index, item: { ...item } },
      { type: 'response.content_part.added', item_id: item.id, output_index: index, content_index: 0, part }
    )
    return { open, events }
  }

  #list(item: OutputItem, source?: readonly string[]): number {
    this.#listed.add({ source }, item)
    return this.#added++
  }

  #shown(item: OutputItem): OutputItem {
    const open = this.#open
    if (open === undefined || open.item !== item) return { ...item }
    const text = open.texts.join('')
    return open.item.type === 'message'
      ? { ...open.item, content: [toText(text, [...open.annotations])] }
      : { ...open.item, content: [{ type: 'reasoning_text', text }] }
  }
}

function toText(text: string, annotations: UrlCitation[]): OutputText {
  return { type: 'output_text', text, annotations, logprobs: [] }
}

// Items whole at once are added as they are, except that they are under way.
function begun(item: OutputItem): OutputItem {
  return 'status' in item ? { ...item, status: 'in_progress' } : item
}
