import type { RunFile, RunResult } from '@svc/contract'
import type { ContentBlock, ToolResult } from '../protocol/message.ts'
import type { Surface } from '../surface.ts'
import { fileUri } from '../resources/run-uri.ts'
import type { CallView } from './call-view.ts'

/** Bytes of all the files that a result has in itself. */
const MAX_INLINE = 4_194_304

/** The result of a call whose run has ended, in `_meta` with the ids that find the run again. */
export async function toToolResult(
  surface: Surface,
  runId: string,
  view: CallView,
  isStructured: boolean
): Promise<ToolResult> {
  const { end, result } = view
  const meta = { runId, sessionId: result.sessionId }
  if (end?.type === 'error') return toErrorResult(end.error, meta)
  if (result.finishReason === 'canceled')
    return toErrorResult({ code: 'RUN_CANCELED', message: 'The run was canceled' }, meta)
  const content = await toContent(surface, runId, result)
  return {
    content,
    ...(isStructured && result.structured !== null && { structuredContent: result.structured }),
    _meta: meta
  }
}

/** An error that the model of the client may read and correct. */
export function toErrorResult(
  { code, message }: { code: string; message: string },
  meta: Readonly<Record<string, unknown>> = {}
): ToolResult {
  return { isError: true, content: [{ type: 'text', text: message }], _meta: { ...meta, code } }
}

async function toContent(surface: Surface, runId: string, result: RunResult): Promise<ContentBlock[]> {
  const { text, structured, files = [] } = result
  const content: ContentBlock[] = []
  if (text !== '') content.push({ type: 'text', text })
  else if (structured !== null) content.push({ type: 'text', text: JSON.stringify(structured) })
  const { inlineLimit } = surface.settings
  let left = Math.max(inlineLimit, MAX_INLINE)
  for (const file of files) {
    const { size = Infinity } = file
    const block = await toFileContent(surface, runId, file, Math.min(inlineLimit, left))
    if (block.type !== 'resource_link') left -= size
    content.push(block)
  }
  return content
}

async function toFileContent(
  surface: Surface,
  runId: string,
  file: RunFile,
  limit: number
): Promise<ContentBlock> {
  const { fileId, url, mimeType, filename, size = Infinity } = file
  const form = formOf(mimeType)
  if (fileId !== undefined && form !== undefined && size <= limit) {
    const data = await readFile(surface, runId, fileId)
    if (data !== undefined)
      return form === 'resource'
        ? { type: form, resource: { uri: fileUri(runId, fileId), mimeType, text: data.toString('utf8') } }
        : { type: form, data: data.toString('base64'), mimeType }
  }
  return {
    type: 'resource_link',
    uri: fileId === undefined ? (url ?? '') : fileUri(runId, fileId),
    name: filename ?? fileId ?? url ?? 'file',
    mimeType,
    ...(size !== Infinity && { size })
  }
}

// How a file is in a result itself; undefined if it is linked.
function formOf(mimeType: string): 'image' | 'audio' | 'resource' | undefined {
  const [type] = mimeType.split('/', 1)
  if (type === 'image' || type === 'audio') return type
  return type === 'text' || mimeType === 'application/json' ? 'resource' : undefined
}

/** The bytes of a file of a run; undefined if they are not kept. */
async function readFile(
  { runs }: Pick<Surface, 'runs'>,
  runId: string,
  fileId: string
): Promise<Buffer | undefined> {
  const found = await runs.stores.files?.get(runId, fileId)
  return found && collect(found.content)
}

/** The bytes of the content of a file. */
export async function collect(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of content) pieces.push(piece)
  return Buffer.concat(pieces)
}
