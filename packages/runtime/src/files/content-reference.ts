import type { ContentPart, ContentReference } from '@svc/contract'
import { sha256Of } from '@svc/registry/engine'

/** Replaces inline binary content by its type, size and hash, as logs and sessions keep it; other parts are unchanged. */
export async function toReference(part: ContentPart) {
  if (part.type === 'text' || 'url' in part) return part
  const { type, mimeType, filename, data } = part
  const bytes = Buffer.from(data, 'base64')
  const sha256 = await sha256Of(bytes)
  const reference: ContentReference = { type, mimeType, sha256, size: bytes.length }
  return filename === undefined ? reference : { ...reference, filename }
}
