import { MIMEType } from 'node:util'
import { create as createDisposition } from 'content-disposition'
import type { StoredFile } from '@svc/contract'

/** UTF-16 code units of a file name. */
const MAX_NAME = 200

/** Types that browsers show as they are. Any `+xml` type may have scripts, so also `image/svg+xml`. */
const SHOWN = /^(?:image\/(?:apng|avif|bmp|gif|jpeg|png|webp)|(?:audio|video)\/[\w.-]+|text\/plain)$/
const PLAYED = /^(?:audio|video)\//

// The viewers of browsers have inline styles, and a player loads its own address again, from the document's origin.
const SANDBOX = "sandbox; default-src 'none'; style-src 'unsafe-inline'"
const PLAYER_SANDBOX =
  "sandbox allow-same-origin; default-src 'none'; media-src 'self'; style-src 'unsafe-inline'"

/** The entity tag of a file: its content never changes. */
export function etagOf({ sha256 }: Pick<StoredFile, 'sha256'>): string {
  return `"${sha256}"`
}

/**
 * The headers with which any file can be served from the origin of the app: browsers neither guess its type nor run anything in it,
 * and pages of other origins cannot embed it.
 */
export function headersOf(file: Pick<StoredFile, 'mimeType' | 'filename'>): Record<string, string> {
  const type = parseType(file.mimeType)
  const essence = type?.essence ?? ''
  const disposition = SHOWN.test(essence) ? 'inline' : 'attachment'
  return {
    'content-type': String(type ?? 'application/octet-stream'),
    'content-disposition': createDisposition(toSafeName(file.filename), { type: disposition }),
    'content-security-policy': PLAYED.test(essence) ? PLAYER_SANDBOX : SANDBOX,
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
    'accept-ranges': 'bytes'
  }
}

function parseType(text: string): MIMEType | undefined {
  try {
    return new MIMEType(text)
  } catch {
    return undefined
  }
}

// Without paths, line breaks, and characters that change the direction of a text to hide its extension.
function toSafeName(name: string | undefined): string | undefined {
  const safe = name
    ?.slice(0, MAX_NAME)
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Bidi_Control}/\\]/gu, '_')
    .trim()
  return safe === '' ? undefined : safe
}
