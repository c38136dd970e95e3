import { sourceKey, VoidableList, type NumberedPart, type PartOf } from '@svc/contract'
import type { AgUiEvent, Tag } from '../wire/events.ts'

/** An increment of an answer or of reasoning. */
export type Increment = NumberedPart & (PartOf<'text'> | PartOf<'reasoning'>)

/** What one of a run, the agent itself, a member or a step, is saying. */
interface Speaker {
  readonly tag: Tag
  open?: { readonly kind: 'text' | 'reasoning'; readonly id: string } | undefined
  // The message to which tool calls belong; undefined until the step has one.
  message?: string | undefined
  // The texts of the step, and their characters.
  texts: string[]
  length: number
}

/**
 * The messages of a run, of the agent itself and of each member. The id of a message is that of the run and the `seq` of its first part; a
 * message ends where something else of its speaker begins.
 */
export class Speech {
  readonly #speakers = new Map<string, Speaker>()
  readonly #messages = new VoidableList<string>()
  #runId = ''
  // The agent itself, or the last member that spoke: most parts follow one of the same speaker.
  #last: { readonly key: string; readonly speaker: Speaker } | undefined

  set runId(runId: string) {
    this.#runId = runId
  }

  /** Continues the text under way of the agent itself, and returns the id of its message; undefined if there is none. */
  continueText(text: string): string | undefined {
    const own = this.#last?.key === '' ? this.#last.speaker : this.#speakers.get('')
    if (own?.open?.kind !== 'text' || text === '') return undefined
    own.length += text.length
    return own.open.id
  }

  add({ type, text, source = [], seq }: Increment, tag: Tag): AgUiEvent[] {
    if (text === '') return []
    const speaker = this.#speakerOf(source, tag)
    if (type === 'text') speaker.length += text.length
    const { open } = speaker
    if (open?.kind === type) return [content(type, open.id, text, tag)]
    const events = this.#close(speaker)
    const id = this.#newId(seq, source)
    speaker.open = { kind: type, id }
    if (type === 'reasoning')
      events.push(
        { type: 'REASONING_START', messageId: id, ...tag },
        { type: 'REASONING_MESSAGE_START', messageId: id, role: 'reasoning', ...tag }
      )
    else {
      speaker.message = id
      speaker.texts.push(id)
      events.push({ type: 'TEXT_MESSAGE_START', messageId: id, role: 'assistant', ...tag })
    }
    events.push(content(type, id, text, tag))
    return events
  }

  /** Ends the message under way of a source. */
  close(source: readonly string[] = []): AgUiEvent[] {
    const speaker = this.#speakers.get(sourceKey(source))
    return speaker === undefined ? [] : this.#close(speaker)
  }

  /** Ends all messages under way. */
  closeAll(): AgUiEvent[] {
    return [...this.#speakers.values()].flatMap((speaker) => this.#close(speaker))
  }

  /** The message to which a tool call of a source belongs: its last text in this step, else a message without text. */
  messageOf({ source = [], seq }: NumberedPart, tag: Tag): string {
    const speaker = this.#speakerOf(source, tag)
    return (speaker.message ??= this.#newId(seq, source))
  }

  /** The message of the last text of a source in this step. */
  textOf(source: readonly string[] = []): string | undefined {
    return this.#speakers.get(sourceKey(source))?.texts.at(-1)
  }

  /** A step begins; returns the messages of its earlier attempt, which is void. */
  begin(part: PartOf<'step.start'>): string[] {
    const { source = [], attempt } = part
    const speaker = this.#speakers.get(sourceKey(source))
    if (speaker !== undefined) reset(speaker)
    const before = attempt > 1 ? this.#messages.values : []
    this.#messages.begin(part)
    const valid = new Set(attempt > 1 ? this.#messages.values : [])
    return before.filter((id) => !valid.has(id))
  }

  /** A member has ended: its next call voids nothing of this one. */
  finish(part: PartOf<'finish'>): void {
    this.#messages.finish(part)
  }

  /** Ends the messages under way of a member, and of those within it: what they say next are other messages. */
  closeWithin(source: readonly string[]): AgUiEvent[] {
    const within = sourceKey(source)
    const events: AgUiEvent[] = []
    for (const [key, speaker] of this.#speakers) {
      if (key !== within && !key.startsWith(`${within}\u0000`)) continue
      events.push(...this.#close(speaker))
      this.#speakers.delete(key)
    }
    this.#last = undefined
    return events
  }

  /** What was spoken of the texts of a step, if it differs from them: they are void, and a message has it. */
  speak(
    { text, source = [], seq }: NumberedPart & PartOf<'voice.turn'>,
    tag: Tag
  ): {
    events: AgUiEvent[]
    isVoid: string[]
  } {
    const speaker = this.#speakerOf(source, tag)
    const events = this.#close(speaker)
    const { texts, length } = speaker
    reset(speaker)
    if (texts.length === 0 || length === text.length) return { events, isVoid: [] }
    if (text !== '') {
      events.push(...this.add({ type: 'text', text, source: [...source], seq, at: 0 }, tag))
      events.push(...this.#close(speaker))
    }
    return { events, isVoid: texts }
  }

  #speakerOf(source: readonly string[], tag: Tag): Speaker {
    const key = sourceKey(source)
    if (this.#last?.key === key) return this.#last.speaker
    let speaker = this.#speakers.get(key)
    if (speaker === undefined) this.#speakers.set(key, (speaker = { tag, texts: [], length: 0 }))
    this.#last = { key, speaker }
    return speaker
  }

  #newId(seq: number, source: readonly string[]): string {
    const id = `${this.#runId}-${seq}`
    this.#messages.add({ source }, id)
    return id
  }

  #close(speaker: Speaker): AgUiEvent[] {
    const { open, tag } = speaker
    if (open === undefined) return []
    speaker.open = undefined
    const messageId = open.id
    if (open.kind === 'text') return [{ type: 'TEXT_MESSAGE_END', messageId, ...tag }]
    return [
      { type: 'REASONING_MESSAGE_END', messageId, ...tag },
      { type: 'REASONING_END', messageId, ...tag }
    ]
  }
}

function content(type: 'text' | 'reasoning', messageId: string, delta: string, tag: Tag): AgUiEvent {
  const name = type === 'text' ? 'TEXT_MESSAGE_CONTENT' : 'REASONING_MESSAGE_CONTENT'
  return { type: name, messageId, delta, ...tag }
}

function reset(speaker: Speaker): void {
  speaker.message = undefined
  speaker.texts = []
  speaker.length = 0
}
