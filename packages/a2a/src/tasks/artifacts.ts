import { hash } from 'node:crypto'
import {
  defined,
  toLoggable,
  type Awaitable,
  type FileStore,
  type RunFile,
  type RunLog,
  type RunResult
} from '@svc/contract'
import { hasPart, hasText, hasType } from '../model/media-types.ts'
import type { Artifact, MessagePart } from '../model/message.ts'
import type { InlineFiles, Outputs } from '../model/requests.ts'
import { toolArtifact, ToolArtifactIds } from './tool-artifacts.ts'

/** Bytes of the files in one reply. */
export const MAX_INLINE = 8_388_608

/** Reads the files of a store that have up to `maxBytes`. Those that cannot be read are logged, and referred to by their URL. */
export function createInlineFiles(files: FileStore, maxBytes: number, log: RunLog): InlineFiles {
  return {
    maxBytes,
    async read(runId, fileId) {
      try {
        const found = await files.get(runId, fileId)
        if (found === undefined || found.file.size > maxBytes) return undefined
        const pieces: Uint8Array[] = []
        for await (const bytes of found.content) pieces.push(bytes)
        const content = Buffer.concat(pieces)
        return content.length === found.file.size ? content.toString('base64') : undefined
      } catch (err) {
        log.error({ runId, fileId, err: toLoggable(err) }, 'a file cannot be read')
        return undefined
      }
    }
  }
}

/** True if a file is one of those that are read. */
export function isInline({ maxBytes }: InlineFiles, { fileId, size }: RunFile): boolean {
  return fileId !== undefined && size !== undefined && size <= maxBytes
}

/** The artifact of a file, with its bytes in place of its URL. */
export async function withBytes(
  artifact: Artifact,
  { fileId = '' }: RunFile,
  taskId: string,
  inline: InlineFiles
): Promise<Artifact> {
  const raw = await inline.read(taskId, fileId)
  if (raw === undefined) return artifact
  return {
    ...artifact,
    parts: artifact.parts.map((part) => {
      if (!('url' in part)) return part
      const { url: _, ...about } = part
      return { raw, ...about }
    })
  }
}

/** The media types that a client accepts; undefined: any. */
export type Accepted = Outputs['accepted']

/** True if a client takes texts. */
export function takesText(accepted: Accepted): boolean {
  return accepted === undefined || hasText(accepted)
}

/** True if a client takes JSON as data. */
export function takesData(accepted: Accepted): boolean {
  return accepted === undefined || hasType(accepted, 'application/json')
}

/**
 * The parts of an answer for a client. Data is a text where only texts are taken. An answer that is the only output (`isOnly`) is sent as a
 * text even to a client that takes no texts.
 */
export function tailorAnswer(
  { text, structured }: Pick<RunResult, 'text' | 'structured'>,
  accepted: Accepted,
  isOnly: boolean
): MessagePart[] {
  const parts: MessagePart[] = []
  if (text !== '' && takesText(accepted)) parts.push({ text })
  if (structured !== null) {
    if (takesData(accepted)) parts.push({ data: structured })
    else if (takesText(accepted) && !isJsonOf(text, structured))
      parts.push({ text: JSON.stringify(structured) })
  }
  if (parts.length > 0 || !isOnly) return parts
  const rest = text === '' && structured !== null ? JSON.stringify(structured) : text
  return rest === '' ? [] : [{ text: rest }]
}

/** The parts that a client takes, data as a text where it takes only texts. */
function tailorParts(parts: MessagePart[], accepted: Accepted): MessagePart[] {
  if (accepted === undefined) return parts
  return parts.flatMap((part) => {
    if (hasPart(accepted, part)) return part
    return 'data' in part && takesText(accepted) ? { text: JSON.stringify(part.data) } : []
  })
}

/** True if a text is the JSON of a value, as the answers of agents with a schema are. */
export function isJsonOf(text: string, value: unknown): boolean {
  try {
    return JSON.stringify(JSON.parse(text)) === JSON.stringify(value)
  } catch {
    return false
  }
}

/** The id of the artifact that holds the answer. */
export const ANSWER_ID = 'answer'

/** The artifacts of a result, complete or partial: the answer, the result of each tool call if it is exposed, then the files. */
export function toArtifacts(
  result: RunResult,
  taskId: string,
  outputs: Outputs,
  inline: Outputs['inline']
): Awaitable<Artifact[]> {
  const { files = NO_FILES, toolCalls } = result
  const tools = outputs.exposeToolResults ? toToolArtifacts(toolCalls) : []
  const others = tailorArtifacts(tools, outputs.accepted)
  if (files.length === 0) return withAnswer(result, others, outputs)
  const made = toFileArtifacts(files, taskId, outputs, inline)
  return made.then((artifacts) => withAnswer(result, [...others, ...artifacts], outputs))
}

const NO_FILES: readonly RunFile[] = Object.freeze([])

function toToolArtifacts(toolCalls: RunResult['toolCalls']): Artifact[] {
  const artifacts: Artifact[] = []
  const ids = new ToolArtifactIds()
  for (const call of toolCalls) {
    const artifactId = ids.next(call)
    if (call.result !== undefined) artifacts.push(toolArtifact(artifactId, call, call.result))
  }
  return artifacts
}

function withAnswer(result: RunResult, others: Artifact[], { accepted }: Outputs): Artifact[] {
  const answer = toAnswer(result, accepted, others.length === 0)
  if (answer === undefined) return others
  others.unshift(answer)
  return others
}

/** The parts of a result as one message: its answer and its files; an empty text if it has neither. */
export async function toReplyParts(
  result: RunResult,
  taskId: string,
  outputs: Outputs
): Promise<MessagePart[]> {
  const { files = NO_FILES } = result
  const made = files.length === 0 ? [] : await toFileArtifacts(files, taskId, outputs, outputs.inline)
  const parts = withAnswer(result, made, outputs).flatMap((each) => each.parts)
  return parts.length === 0 ? [{ text: '' }] : parts
}

async function toFileArtifacts(
  files: readonly RunFile[],
  taskId: string,
  outputs: Outputs,
  inline: Outputs['inline']
): Promise<Artifact[]> {
  const artifacts: Artifact[] = []
  let left = MAX_INLINE
  for (const file of files) {
    const made = fileArtifact(file, taskId, outputs)
    const [artifact] = made === undefined ? [] : tailorArtifacts([made], outputs.accepted)
    if (artifact === undefined) continue
    const { size = 0 } = file
    const isWhole = inline !== undefined && isInline(inline, file) && size <= left
    if (isWhole) left -= size
    artifacts.push(isWhole ? await withBytes(artifact, file, taskId, inline) : artifact)
  }
  return artifacts
}

/** The artifacts of which a client takes a part. */
export function tailorArtifacts(artifacts: Artifact[], accepted: Accepted): Artifact[] {
  if (accepted === undefined) return artifacts
  return artifacts.flatMap((artifact) => {
    const parts = tailorParts(artifact.parts, accepted)
    return parts.length === 0 ? [] : { ...artifact, parts }
  })
}

/** The artifact that holds the answer of a result, if it has one. */
export function toAnswer(result: RunResult, accepted?: Accepted, isOnly = true): Artifact | undefined {
  const parts = tailorAnswer(result, accepted, isOnly)
  return parts.length === 0 ? undefined : answerArtifact(parts)
}

export function answerArtifact(parts: MessagePart[]): Artifact {
  return { artifactId: ANSWER_ID, parts }
}

/** A file by its URL, at this service or elsewhere; undefined if its content is not kept. */
export function fileArtifact(file: RunFile, taskId: string, outputs: Outputs): Artifact | undefined {
  const { fileId, url: given, mimeType: mediaType, filename, size, sha256, purpose } = file
  const url = fileId === undefined ? given : outputs.fileUrl(taskId, fileId)
  if (url === undefined) return undefined
  const named = filename !== undefined && { filename }
  const metadata = defined({ size, sha256, purpose })
  return {
    artifactId: `file-${fileId ?? hash('sha256', url).slice(0, 16)}`,
    ...(filename !== undefined && { name: filename }),
    parts: [{ url, mediaType, ...named, ...(Object.keys(metadata).length > 0 && { metadata }) }]
  }
}
