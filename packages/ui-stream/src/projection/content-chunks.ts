import { fileOfAudio, type NumberedPart, type PartOf, type PartType, type RunFile } from '@svc/contract'
import type { UiChunk } from '../wire/chunks.ts'

/** The logged part of a type. */
export type Logged<T extends PartType> = NumberedPart & PartOf<T>

/** The chunks of files, sources and what else a message shows as it is, of the agent and of members. */
export function contentChunks(part: NumberedPart, fileUrl: (file: RunFile) => string | undefined): UiChunk[] {
  switch (part.type) {
    case 'file':
      return toFile(part, fileUrl(part))
    case 'voice.audio': {
      const file = fileOfAudio(part)
      return toFile(file, fileUrl(file))
    }
    case 'citation':
      return [toSource(part)]
    case 'browser.page': {
      const { index, url, title } = part
      return [{ type: 'data-browser-page', data: { index, url, title } }]
    }
    case 'voice.transcript': {
      const { itemId, text, final, language } = part
      const data = { itemId, text, ...(language !== undefined && { language }) }
      return [{ type: 'data-voice-transcript', data, ...(!final && { transient: true as const }) }]
    }
    default:
      return []
  }
}

/** A chunk for a `data` part, transient or not. */
export function toData({ name, value, transient }: PartOf<'data'>): UiChunk {
  return { type: `data-${name}`, data: value ?? null, ...(transient && { transient }) }
}

/** A chunk for the structured answer, whole or not: a later one replaces it. */
export function toStructured(value: unknown): UiChunk {
  return { type: 'data-structured', id: 'structured', data: value ?? null }
}

function toFile(file: RunFile, url: string | undefined): UiChunk[] {
  if (url === undefined) return []
  const { mimeType: mediaType, filename, size, purpose, toolCallId, source } = file
  const svc = {
    ...(filename !== undefined && { filename }),
    ...(size !== undefined && { size }),
    ...(purpose !== undefined && { purpose }),
    ...(toolCallId !== undefined && { toolCallId }),
    ...(source?.length && { source })
  }
  return [{ type: 'file', url, mediaType, ...(Object.keys(svc).length > 0 && { providerMetadata: { svc } }) }]
}

function toSource({ url, title, documentId, quote, seq, source }: Logged<'citation'>): UiChunk {
  const svc = {
    ...(quote !== undefined && { quote }),
    ...(url !== undefined && documentId !== undefined && { documentId }),
    ...(source?.length && { source })
  }
  const more = Object.keys(svc).length > 0 && { providerMetadata: { svc } }
  const sourceId = `source-${seq}`
  if (url !== undefined)
    return { type: 'source-url', sourceId, url, ...(title !== undefined && { title }), ...more }
  return {
    type: 'source-document',
    sourceId: documentId ?? sourceId,
    mediaType: 'text/plain',
    title: title ?? documentId ?? '',
    ...more
  }
}
