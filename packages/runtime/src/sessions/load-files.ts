import type { AcceptedMessage, Awaitable, ContentPart, FileContentPart, MessageInput } from '@svc/contract'

/** Prepares a message for a model: reads uploaded files into memory, one at a time. */
export function loadFiles(message: AcceptedMessage): Awaitable<MessageInput> {
  if (typeof message === 'string') return message
  return message.some(isFile) ? load(message) : (message as MessageInput)
}

async function load(parts: readonly (ContentPart | FileContentPart)[]): Promise<MessageInput> {
  const loaded: ContentPart[] = []
  for (const part of parts) {
    if (!isFile(part)) {
      loaded.push(part)
      continue
    }
    const { file, ...rest } = part
    const chunks: Uint8Array[] = []
    for await (const chunk of file.stream()) chunks.push(chunk)
    loaded.push({ ...rest, data: Buffer.concat(chunks).toString('base64') })
  }
  return loaded
}

function isFile(part: ContentPart | FileContentPart): part is FileContentPart {
  return 'file' in part
}
