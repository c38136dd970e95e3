import {
  fileOfAudio,
  isToolPart,
  TurnTexts,
  type NumberedPart,
  type PartOf,
  type RunFile
} from '@svc/contract'
import { type FileUrl } from '@svc/surface'
import type { FastifyRequest } from 'fastify'
import { fileUrlIn } from '../files/file-urls.ts'
import type { ToolCallsShown } from '../options.ts'
import type { Surface } from '../surface.ts'
import type { ItemEvent } from '../wire/response-events.ts'
import type { OutputItem } from '../wire/response-items.ts'
import { CallItems } from './call-items.ts'
import { OutputItems, type OpenText } from './output-items.ts'

type Logged<T extends NumberedPart['type']> = NumberedPart & PartOf<T>

/** What responses show of their runs. */
export interface ResponseView {
  readonly fileUrl: FileUrl
  readonly toolCalls: ToolCallsShown
}

/** For readers of what a run waits for, and of where its responses begin. */
export const BARE: ResponseView = { fileUrl: () => undefined, toolCalls: 'none' }

/** The view of a request. */
export function viewIn(surface: Surface, request: FastifyRequest): ResponseView {
  return { fileUrl: fileUrlIn(surface, request), toolCalls: surface.toolCalls }
}

/** The items of the responses of a run, and their events. */
export class RunItems {
  readonly #runId: string
  readonly #fileUrl: FileUrl
  readonly #calls: CallItems
  readonly #items = new OutputItems()
  readonly #texts = new TurnTexts<OutputItem>()

  /** @param name of the runnable, which is the server of its calls */
  constructor(runId: string, name: string, { fileUrl, toolCalls }: ResponseView) {
    this.#runId = runId
    this.#fileUrl = fileUrl
    this.#calls = new CallItems(runId, name, toolCalls, this.#items)
  }

  /** The items of the response so far that count. */
  get output(): readonly OutputItem[] {
    return this.#items.output
  }

  /** The calls of the run, with what it waits for. */
  get calls(): CallItems {
    return this.#calls
  }

  /** The next response begins, without items. */
  beginResponse(): void {
    this.#items.clear()
  }

  /** Continues the message under way; undefined if there is none. */
  extend(text: string): OpenText | undefined {
    const open = text === '' ? undefined : this.#items.extend(text)
    if (open !== undefined) this.#texts.add(text, open.item)
    return open
  }

  /** The events of a part, other than of those that begin or end the run. */
  add(part: NumberedPart): ItemEvent[] {
    if (part.source?.length) return this.#ofMember(part)
    switch (part.type) {
      case 'text':
        return part.text === '' ? [] : this.#say(part.text, part.seq)
      case 'reasoning':
        return part.text === '' ? [] : this.#items.text('reasoning', this.#idAt(part.seq), part.text).events
      case 'step.start':
        return this.#beginStep(part)
      case 'step':
        return this.#items.close(
          'completed',
          part.finishReason === 'tool-calls' ? 'commentary' : 'final_answer'
        )
      case 'voice.turn':
        return this.#turn(part)
      default:
        return this.#anywhere(part)
    }
  }

  /** Says the value of a run that has said nothing. */
  sayValue(value: unknown, seq: number): ItemEvent[] {
    if (this.#texts.length > 0 || value === null || value === undefined) return []
    return this.#say(JSON.stringify(value), seq)
  }

  /** Ends what is under way with the run: a text with this status, calls as incomplete. */
  end(status: 'completed' | 'incomplete'): ItemEvent[] {
    const phase = status === 'completed' ? 'final_answer' : undefined
    return [...this.#items.close(status, phase), ...this.#calls.end()]
  }

  /** Ends the response where the run waits: the next one has the calls under way. */
  pause(): ItemEvent[] {
    return [...this.#items.close('completed', 'commentary'), ...this.#calls.pause()]
  }

  #ofMember(part: NumberedPart): ItemEvent[] {
    switch (part.type) {
      case 'step.start':
        this.#items.begin(part)
        return this.#calls.begin(part)
      case 'finish':
        this.#items.finish(part)
        this.#calls.finish(part)
        return []
      default:
        return this.#anywhere(part)
    }
  }

  #anywhere(part: NumberedPart): ItemEvent[] {
    if (isToolPart(part)) {
      const closed = part.source?.length ? [] : this.#items.close('completed', 'commentary')
      return [...closed, ...this.#calls.add(part)]
    }
    switch (part.type) {
      case 'file':
        return this.#file(part, part.seq)
      case 'voice.audio':
        return this.#file(fileOfAudio(part), part.seq)
      case 'citation': {
        const { url, title = url } = part
        return url === undefined ? [] : this.#items.cite(this.#idAt(part.seq), { url, title: title! })
      }
      default:
        return []
    }
  }

  #say(text: string, seq: number): ItemEvent[] {
    const { open, events } = this.#items.text('message', this.#idAt(seq), text)
    this.#texts.add(text, open.item)
    return events
  }

  #beginStep(part: PartOf<'step.start'>): ItemEvent[] {
    this.#texts.begin(part)
    const events = [
      ...(part.attempt > 1 ? this.#items.close('incomplete') : this.#items.close('completed', 'commentary')),
      ...this.#calls.begin(part)
    ]
    this.#items.begin(part)
    return events
  }

  #turn({ text, seq }: Logged<'voice.turn'>): ItemEvent[] {
    const isVoid = this.#texts.end(text)
    if (isVoid === undefined) return this.#items.close()
    const events = this.#items.close('incomplete')
    for (const item of isVoid) this.#items.drop(item)
    if (text === '') return events
    return [...events, ...this.#items.text('message', this.#idAt(seq), text).events, ...this.#items.close()]
  }

  #file(file: RunFile, seq: number): ItemEvent[] {
    const url = this.#fileUrl(file, this.#runId)
    if (url === undefined) return []
    return this.#items.cite(this.#idAt(seq), { url, title: file.filename ?? file.mimeType })
  }

  #idAt(seq: number): string {
    return `${this.#runId}_${seq}`
  }
}
