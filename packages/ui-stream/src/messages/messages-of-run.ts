import type { ContentPart, PartOf, RunFile, RunInput, Runnable } from '@svc/contract'
import {
  contentOfFile,
  partsOfTurn,
  readPresent,
  type FileUrl,
  type RunEngine,
  type Turn
} from '@svc/surface'
import { UI_ERR_BAD_MESSAGE } from '../errors.ts'
import { MessageChunks, type ChatView } from '../projection/message-chunks.ts'
import type { UiMessage, UiPart } from '../wire/messages.ts'
import { MessageBuilder } from './build-message.ts'

/** The data part whose value is the input of a runnable with an input schema. */
const INPUT_PART = 'data-input'

/**
 * The input for a user's message: a text if all parts are text, else content parts. A runnable with an input schema gets the
 * value of a `data-input` part. Other data parts are for the page alone.
 * @throws UI_ERR_BAD_MESSAGE
 */
export function toInput(
  { role, parts }: Pick<UiMessage, 'role' | 'parts'>,
  { inputSchema }: Pick<Runnable, 'inputSchema'>
): RunInput {
  if (role !== 'user') throw new UI_ERR_BAD_MESSAGE(`its role is "${role}", not "user"`)
  const given = parts.find(({ type }) => type === INPUT_PART)
  if (given !== undefined && inputSchema !== undefined) return given['data']
  const content = parts.flatMap(toContent)
  if (content.length === 0) throw new UI_ERR_BAD_MESSAGE('it has neither text nor files')
  if (!content.every((part) => part.type === 'text')) return content
  return content.map(({ text }) => text).join('\n')
}

function toContent(part: UiPart): ContentPart[] {
  const { type } = part
  if (type === 'text') return [{ type, text: textOf(part, 'text') }]
  if (type === 'file') {
    const { filename } = part
    if (filename !== undefined && filename !== null && typeof filename !== 'string')
      throw new UI_ERR_BAD_MESSAGE('the filename of a file must be a string')
    return [
      contentOfFile({
        url: textOf(part, 'url'),
        mimeType: part['mediaType'] === undefined ? undefined : textOf(part, 'mediaType'),
        filename: filename ?? undefined
      })
    ]
  }
  if (type.startsWith('data-')) return []
  throw new UI_ERR_BAD_MESSAGE('its parts must be text, files or data')
}

function textOf(part: UiPart, field: string): string {
  const value = part[field]
  if (typeof value === 'string') return value
  throw new UI_ERR_BAD_MESSAGE(`the ${field} of a ${part.type} part must be a string`)
}

/**
 * The messages of a run as its log has them: what the user asked, and the answer so far. Undefined if the log is no longer kept.
 * @throws RUN_ERR_DAMAGED, RUN_ERR_STORE
 */
export async function messagesOfRun(
  { stores }: Pick<RunEngine, 'stores'>,
  runId: string,
  view: ChatView
): Promise<UiMessage[] | undefined> {
  const chunks = new MessageChunks(view)
  const answer = new MessageBuilder()
  let start: PartOf<'start'> | undefined
  for await (const { part } of readPresent(stores, runId)) {
    if (part.type === 'start' && !part.source?.length) start = part
    for (const chunk of chunks.add(part)) answer.add(chunk)
  }
  if (start === undefined) return undefined
  if (chunks.run.isWaiting) for (const chunk of chunks.pause()) answer.add(chunk)
  const user = toUserMessage(runId, start.input, view.fileUrl)
  return [...(user.parts.length > 0 ? [user] : []), ...(answer.isEmpty ? [] : [answer.build()])]
}

/** The messages of a turn as its session keeps them: text, tool calls and files. */
export function messagesOfTurn(turn: Turn, view: ChatView): UiMessage[] {
  const { runId, messages } = turn
  const [first] = messages
  const user = first?.role === 'user' ? [toUserMessage(runId, first.content, view.fileUrl)] : []
  const answer = new MessageBuilder()
  const chunks = new MessageChunks(view)
  // Only the id of the message is needed of the start, not its session.
  for (const part of partsOfTurn(turn, '')) for (const chunk of chunks.add(part)) answer.add(chunk)
  const metadata = { runId, status: 'completed' }
  return [...user, ...(answer.isEmpty ? [] : [{ ...answer.build(), metadata }])]
}

/**
 * The message of the user that began a run, as the run or the session keeps it. Files whose content is not kept are described by a
 * `data-file` part.
 */
function toUserMessage(runId: string, input: unknown, fileUrl: FileUrl): UiMessage {
  const id = `${runId}.input`
  return { id, role: 'user', parts: toParts(input, runId, fileUrl) }
}

function toParts(input: unknown, runId: string, fileUrl: FileUrl): UiPart[] {
  if (typeof input === 'string') return [{ type: 'text', text: input }]
  if (Array.isArray(input) && input.every(isContent)) return input.map((each) => toPart(each, runId, fileUrl))
  return input === undefined ? [] : [{ type: INPUT_PART, data: input }]
}

type Content = Partial<RunFile> & { readonly type: string; readonly text?: string }

function isContent(value: unknown): value is Content {
  const { type, text, mimeType } = (value ?? {}) as Record<string, unknown>
  return type === 'text' ? typeof text === 'string' : typeof type === 'string' && typeof mimeType === 'string'
}

function toPart(content: Content, runId: string, fileUrl: FileUrl): UiPart {
  const { type, text, mimeType = '', filename, size, sha256 } = content
  if (type === 'text') return { type, text }
  const url = fileUrl({ ...content, mimeType }, runId)
  const named = filename !== undefined && { filename }
  if (url !== undefined) return { type: 'file', mediaType: mimeType, url, ...named }
  const data = {
    mediaType: mimeType,
    ...named,
    ...(size !== undefined && { size }),
    ...(sha256 && { sha256 })
  }
  return { type: 'data-file', data }
}
