import type { ContentPart } from '@svc/contract'

/** A file as wires have it: its URL, which may be a `data:` URL with its bytes. */
export interface LinkedFile {
  readonly url: string
  /** Default: that of a `data:` URL, else `application/octet-stream`. */
  readonly mimeType?: string | undefined
  readonly filename?: string | undefined
}

const DATA_URL = /^data:([^,]*?)(;base64)?,/i
const UNKNOWN_TYPE = 'application/octet-stream'

/**
 * The content part for a file of a client. The bytes of a `data:` URL become base64, whose form is checked with the input.
 * @see https://www.rfc-editor.org/rfc/rfc2397
 */
export function contentOfFile({ url, mimeType, filename }: LinkedFile): ContentPart {
  const [head, type = '', base64] = DATA_URL.exec(url) ?? []
  const given = mimeType || type || UNKNOWN_TYPE
  const about = { mimeType: given, ...(filename !== undefined && { filename }) }
  const family = /^(image|audio)\//.exec(given)?.[1] as 'image' | 'audio' | undefined
  const kind = { type: family ?? ('file' as const), ...about }
  if (head === undefined) return { ...kind, url }
  const data = url.slice(head.length)
  return { ...kind, data: base64 === undefined ? toBase64(data) : data }
}

// A malformed escape stays as it is.
function toBase64(escaped: string): string {
  let text = escaped
  try {
    text = decodeURIComponent(escaped)
  } catch {}
  return Buffer.from(text).toString('base64')
}
