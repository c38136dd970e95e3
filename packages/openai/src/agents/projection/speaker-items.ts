import type { MadeEvent } from '../wire/event-schemas.ts'
import type {
  AssistantMessage,
  FunctionCall,
  McpCall,
  OutputItem,
  ReasoningItem,
  SessionItem,
  UserMessage
} from '../wire/item-schemas.ts'

/** A message or reasoning that is said, in increments. */
export interface SpokenItem {
  readonly item: AssistantMessage | ReasoningItem
  readonly owner: SpeakerItems
  readonly index: number
  readonly texts: string[]
  /** The JSON of its events up to the increment, which is all that differs. */
  beforeDelta?: string
}

/** A call under way, or one that is over. */
export interface CallItem<T extends FunctionCall | McpCall = FunctionCall | McpCall> {
  item: T
  readonly owner: SpeakerItems
  readonly index: number
}

/** How something that was said ends. */
export interface SpokenEnd {
  readonly status: 'completed' | 'incomplete'
  readonly phase: 'commentary' | 'final_answer' | null
}

/** The items of the agent itself, of a member or of a step, in order, and their events. */
export class SpeakerItems {
  readonly #sessionId: string
  /** The turn that items are of. */
  turnId: string
  readonly #items: { readonly item: SessionItem }[] = []
  readonly #pending: SpokenItem[] = []
  #outputs = 0

  constructor(sessionId: string, turnId: string) {
    this.#sessionId = sessionId
    this.turnId = turnId
  }

  /** The items so far, those under way included. */
  get items(): readonly SessionItem[] {
    return this.#items.map((each) => ('texts' in each ? toSpoken(each as SpokenItem) : each.item))
  }

  /** Adds what is no output of the agent. */
  add(item: SessionItem): MadeEvent {
    this.#items.push({ item })
    return { ...this.#added(item), output_index: null }
  }

  addUser(id: string, content: UserMessage['content']): MadeEvent {
    const { turnId: turn_id } = this
    return this.add({ id, turn_id, type: 'message', role: 'user', content, phase: null, status: 'completed' })
  }

  /** Begins what is said with its first increment. */
  begin(kind: 'text' | 'reasoning', id: string): { spoken: SpokenItem; events: MadeEvent[] } {
    const { turnId: turn_id } = this
    const item: AssistantMessage | ReasoningItem =
      kind === 'text'
        ? { id, turn_id, type: 'message', role: 'assistant', content: [], phase: null, status: 'in_progress' }
        : { id, turn_id, type: 'reasoning', summary: [], status: 'in_progress' }
    const spoken: SpokenItem = { item, owner: this, index: this.#outputs++, texts: [] }
    this.#items.push(spoken)
    this.#pending.push(spoken)
    const at = this.#at(spoken)
    const added = { ...this.#added(item), output_index: spoken.index }
    const part: MadeEvent =
      kind === 'text'
        ? {
            type: 'agent.session.turn.content_part.added',
            ...at,
            content_index: 0,
            part: { type: 'output_text', text: '' }
          }
        : {
            type: 'agent.session.turn.reasoning_summary_part.added',
            ...at,
            summary_index: 0,
            part: { type: 'summary_text', text: '' }
          }
    return { spoken, events: [added, part] }
  }

  continue(spoken: SpokenItem, delta: string): MadeEvent {
    spoken.texts.push(delta)
    return this.#delta(spoken, delta)
  }

  /** The JSON of the event of an increment, up to that. */
  toBeforeDelta(spoken: SpokenItem): string {
    return JSON.stringify(this.#delta(spoken, '')).slice(0, -'""}'.length)
  }

  #delta(spoken: SpokenItem, delta: string): MadeEvent {
    const at = this.#at(spoken)
    return spoken.item.type === 'message'
      ? { type: 'agent.session.turn.output_text.delta', ...at, content_index: 0, delta }
      : { type: 'agent.session.turn.reasoning_summary_text.delta', ...at, summary_index: 0, delta }
  }

  /** Ends what was said since the last call. */
  endSpoken(end: SpokenEnd): MadeEvent[] {
    return this.#pending.splice(0).flatMap((spoken) => this.#endSpoken(spoken, end))
  }

  /** True if something said has not ended. */
  get isSpeaking(): boolean {
    return this.#pending.length > 0
  }

  beginCall<T extends FunctionCall | McpCall>(item: T): { call: CallItem<T>; event: MadeEvent } {
    const call: CallItem<T> = { item, owner: this, index: this.#outputs++ }
    this.#items.push(call)
    return { call, event: { ...this.#added(item), output_index: call.index } }
  }

  endCall<T extends FunctionCall | McpCall>(call: CallItem<T>, end: Partial<T>): MadeEvent {
    call.item = { ...call.item, ...end }
    return this.#done(call.item, call.index)
  }

  #endSpoken(spoken: SpokenItem, { status, phase }: SpokenEnd): MadeEvent[] {
    const { item, index } = spoken
    item.status = status
    if (item.type === 'message') item.phase = phase
    const text = spoken.texts.join('')
    spoken.texts.splice(0, Infinity, text)
    const at = this.#at(spoken)
    const done = this.#done(toSpoken(spoken) as OutputItem, index)
    if (item.type === 'message')
      return [
        { type: 'agent.session.turn.output_text.done', ...at, content_index: 0, text },
        {
          type: 'agent.session.turn.content_part.done',
          ...at,
          content_index: 0,
          part: { type: 'output_text', text }
        },
        done
      ]
    return [
      { type: 'agent.session.turn.reasoning_summary_text.done', ...at, summary_index: 0, text },
      {
        type: 'agent.session.turn.reasoning_summary_part.done',
        ...at,
        summary_index: 0,
        part: { type: 'summary_text', text },
        status: status === 'incomplete' ? status : null
      },
      done
    ]
  }

  #added(item: SessionItem) {
    const { turn_id } = item
    return { type: 'agent.session.turn.item.added', session_id: this.#sessionId, turn_id, item } as const
  }

  #done(item: OutputItem, output_index: number): MadeEvent {
    const { turn_id } = item
    return {
      type: 'agent.session.turn.item.done',
      session_id: this.#sessionId,
      turn_id,
      output_index,
      item
    }
  }

  #at({ item, index }: SpokenItem) {
    const { turn_id, id } = item
    return { session_id: this.#sessionId, turn_id, item_id: id, output_index: index }
  }
}

// A copy: what is said goes on.
function toSpoken({ item, texts }: SpokenItem): SessionItem {
  const text = texts.join('')
  if (item.type === 'reasoning')
    return { ...item, summary: text === '' ? [] : [{ type: 'summary_text', text }] }
  return { ...item, content: text === '' ? [] : [{ type: 'output_text', text }] }
}
