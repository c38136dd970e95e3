import {
  RunSpeech,
  VoidableList,
  type Increment,
  type NumberedPart,
  type Passage,
  type PartOf
} from '@svc/contract'
import type { AgUiEvent, Tag } from '../wire/events.ts'

interface Message {
  readonly id: string
  readonly tag: Tag
}

/**
 * The messages of a run, of the agent itself and of each member. The id of a message is that of the run and the `seq` of its first part; a
 * message ends where something else of its speaker begins.
 */
export class Speech {
  readonly #said = new RunSpeech<Message>((part) => this.#make(part))
  readonly #messages = new VoidableList<string>()
  #runId = ''
  // That of the part which is added.
  #tag: Tag = {}

  set runId(runId: string) {
    this.#runId = runId
  }

  /** Continues the text under way of the agent itself, and returns the id of its message; undefined if there is none. */
  continueText(part: Increment): string | undefined {
    return this.#said.continue(part)?.shown.id
  }

  add(part: Increment, tag: Tag): AgUiEvent[] {
    const open = this.#said.continue(part)
    if (open !== undefined) return [content(open, part.text, tag)]
    this.#tag = tag
    const { ended, passage } = this.#said.open(part) ?? {}
    if (passage === undefined) return []
    return [...ended!.flatMap(endsOf), ...beginningsOf(passage), content(passage, part.text, tag)]
  }

  /** Ends the message under way of a source. */
  close(source?: readonly string[]): AgUiEvent[] {
    return this.#said.end(source).flatMap(endsOf)
  }

  /** Ends all messages under way. */
  closeAll(): AgUiEvent[] {
    return this.#said.endAll().flatMap(endsOf)
  }

  /** Ends the messages under way of a member, and of those within it: what they say next are other messages. */
  closeWithin(source: readonly string[]): AgUiEvent[] {
    return this.#said.endWithin(source).flatMap(endsOf)
  }

  /** The message to which a tool call of a source belongs: its last text in this step, else a message without text. */
  messageOf(part: NumberedPart, tag: Tag): string {
    this.#tag = tag
    return this.#said.answerOf(part).id
  }

  /** The message of the last text of a source in this step. */
  textOf(source: readonly string[] = []): string | undefined {
    return this.#said.textOf(source)?.id
  }

  /** A step begins; returns the messages of its earlier attempt, which is void. */
  begin(part: PartOf<'step.start'>): string[] {
    this.#said.begin(part)
    return this.#messages.begin(part)
  }

  /** A member has ended: its next call voids nothing of this one. */
  finish(part: PartOf<'finish'>): void {
    this.#messages.finish(part)
  }

  /** What was spoken of the texts of a step, if it differs from them: they are void, and a message has it. */
  speak(part: NumberedPart & PartOf<'voice.turn'>, tag: Tag): { events: AgUiEvent[]; isVoid: string[] } {
    this.#tag = tag
    const events = this.close(part.source)
    const { isVoid = [], spoken } = this.#said.speak(part) ?? {}
    if (spoken !== undefined) {
      const passage = { kind: 'text', shown: spoken } as const
      events.push(...beginningsOf(passage), content(passage, part.text, tag), ...endsOf(passage))
    }
    return { events, isVoid: isVoid.map(({ id }) => id) }
  }

  #make({ source, seq }: NumberedPart): Message {
    const id = `${this.#runId}-${seq}`
    this.#messages.add({ source }, id)
    return { id, tag: this.#tag }
  }
}

function beginningsOf({ kind, shown: { id: messageId, tag } }: Passage<Message>): AgUiEvent[] {
  if (kind === 'text') return [{ type: 'TEXT_MESSAGE_START', messageId, role: 'assistant', ...tag }]
  return [
    { type: 'REASONING_START', messageId, ...tag },
    { type: 'REASONING_MESSAGE_START', messageId, role: 'reasoning', ...tag }
  ]
}

function content({ kind, shown: { id: messageId } }: Passage<Message>, delta: string, tag: Tag): AgUiEvent {
  const type = kind === 'text' ? 'TEXT_MESSAGE_CONTENT' : 'REASONING_MESSAGE_CONTENT'
  return { type, messageId, delta, ...tag }
}

function endsOf({ kind, shown: { id: messageId, tag } }: Passage<Message>): AgUiEvent[] {
  if (kind === 'text') return [{ type: 'TEXT_MESSAGE_END', messageId, ...tag }]
  return [
    { type: 'REASONING_MESSAGE_END', messageId, ...tag },
    { type: 'REASONING_END', messageId, ...tag }
  ]
}
