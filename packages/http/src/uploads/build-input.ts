import type { AcceptedMessage, FileContentPart } from '@svc/registry'
import type { UploadedFile } from './uploaded-file.ts'

/**
 * What a form says to a runnable: the text alone where there are no files, else a list of the text, if there is any, and the
 * files. The content of the files stays on disk: who needs it reads `part.file.stream()` while the run is under way.
 */
export function buildInput(text: string, files: readonly UploadedFile[]): AcceptedMessage {
  if (files.length === 0) return text
  const parts = files.map(toPart)
  return text === '' ? parts : [{ type: 'text', text }, ...parts]
}

function toPart(file: UploadedFile): FileContentPart {
  const { mimeType, filename, size } = file
  const kind = /^(image|audio)\//.exec(mimeType)?.[1] as 'image' | 'audio' | undefined
  return {
    type: kind ?? 'file',
    mimeType,
    ...(filename !== undefined && { filename }),
    file: { size, stream: () => file.stream() }
  }
}
