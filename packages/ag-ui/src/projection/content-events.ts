import { fileOfAudio, type NumberedPart, type PartOf, type RunFile } from '@svc/contract'
import { Value } from '@sinclair/typebox/value'
import { JsonPatchSchema, type AgUiEvent, type AgUiEventOf, type Tag } from '../wire/events.ts'

type Patch = AgUiEventOf<'STATE_DELTA'>['delta']

/** What the events of files and sources need to know of their run. */
export interface ContentPlace {
  readonly runId: string
  readonly tag: Tag
  /** The message whose sources they are; undefined if there is none. */
  readonly messageId: string | undefined
  url(file: RunFile): string | undefined
  /** The id in the thread of a call of the log. */
  callId(call: { toolCallId: string; source?: string[] | undefined }): string | undefined
}

/** The events of files, sources and what else a thread shows as it is, of the agent and of members. */
export function contentEvents(part: NumberedPart, place: ContentPlace): AgUiEvent[] {
  const { tag, messageId } = place
  const custom = (name: string, value: object): AgUiEvent[] => [{ type: 'CUSTOM', name, value, ...tag }]
  switch (part.type) {
    case 'file':
      return toFile(part, part.seq, place)
    case 'voice.audio':
      return toFile(fileOfAudio(part), part.seq, place)
    case 'citation': {
      const { url, title, documentId, quote } = part
      return custom('citation', given({ url, title, documentId, quote, messageId }))
    }
    case 'browser.page': {
      const { index, url, title } = part
      return custom('browser-page', { index, url, title })
    }
    case 'voice.transcript': {
      const { itemId, text, final, language } = part
      return custom('voice-transcript', given({ itemId, text, final, language }))
    }
    default:
      return []
  }
}

/** The event of a `data` part, transient or not: the state for those named `state` and `state-delta`. */
export function toDataEvent({ name, value }: PartOf<'data'>, tag: Tag): AgUiEvent {
  if (name === 'state') return { type: 'STATE_SNAPSHOT', snapshot: value ?? null, ...tag }
  if (name === 'state-delta' && isPatch(value)) return { type: 'STATE_DELTA', delta: value, ...tag }
  return { type: 'CUSTOM', name, value: value ?? null, ...tag }
}

// Clients end the run at a patch that is malformed.
function isPatch(value: unknown): value is Patch {
  return Value.Check(JsonPatchSchema, value)
}

function toFile(file: RunFile, seq: number, { runId, tag, url: urlOf, callId }: ContentPlace): AgUiEvent[] {
  const { mimeType, filename, size, purpose, toolCallId: called, source } = file
  const url = urlOf(file)
  if (url === undefined) return []
  const toolCallId = called === undefined ? undefined : callId({ toolCallId: called, source })
  return [
    {
      type: 'ACTIVITY_SNAPSHOT',
      messageId: `${runId}-${seq}`,
      activityType: 'file',
      content: given({ url, mimeType, filename, size, purpose, toolCallId }),
      ...tag
    }
  ]
}

function given(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}
