import { toLoggable, type PartOf, type RunContext } from '@svc/contract'

/** A file that a run made, such as its model, a tool or a remote agent. */
export interface MadeFile {
  readonly mimeType: string
  readonly filename?: string
  /** Bytes, or base64. */
  readonly data: Uint8Array | string
  readonly purpose?: string
  readonly toolCallId?: string
}

/**
 * Keeps a file in the file store of a run, and returns its part. Without a file store, or if it does not take the file, the part has
 * no `fileId`: the run continues.
 */
export async function keepFile(
  { runId, stores, log }: Pick<RunContext, 'runId' | 'stores' | 'log'>,
  { data, ...given }: MadeFile
): Promise<PartOf<'file'>> {
  const content = typeof data === 'string' ? Buffer.from(data, 'base64') : data
  const { mimeType, filename } = given
  // Names of pages and tools may have half a surrogate pair.
  const file = filename === undefined ? given : { ...given, filename: filename.toWellFormed() }
  try {
    const kept = await stores.files?.put(runId, { mimeType, filename: file.filename, content })
    if (kept !== undefined) {
      const { fileId, size, sha256 } = kept
      return { type: 'file', fileId, ...file, size, sha256 }
    }
  } catch (err) {
    log.warn({ runId, size: content.length, err: toLoggable(err) }, 'a file of the run is not kept')
  }
  return { type: 'file', ...file, size: content.length, sha256: await sha256Of(content) }
}

/** The SHA-256 of bytes, in hexadecimal digits. */
export async function sha256Of(bytes: Uint8Array): Promise<string> {
  return Buffer.from(await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>)).toString('hex')
}

/** Bytes at the start of a file that show its type. */
const SAMPLE = 4_098

/** What files begin with, after a number of bytes; each character is a byte. */
const MAGIC: readonly (readonly [type: string, at: number, bytes: string])[] = [
  ['image/png', 0, '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', 0, '\xff\xd8\xff'],
  ['image/gif', 0, 'GIF87a'],
  ['image/gif', 0, 'GIF89a'],
  ['image/webp', 8, 'WEBP'],
  ['image/tiff', 0, 'II*\0'],
  ['image/tiff', 0, 'MM\0*'],
  ['image/avif', 4, 'ftypavif'],
  ['image/heic', 4, 'ftypheic'],
  ['image/heic', 4, 'ftypheix'],
  ['image/heif', 4, 'ftypmif1'],
  ['application/pdf', 0, '%PDF-'],
  ['audio/wav', 8, 'WAVE'],
  ['audio/mpeg', 0, 'ID3'],
  ['audio/mpeg', 0, '\xff\xfb'],
  ['audio/mpeg', 0, '\xff\xf3'],
  ['audio/flac', 0, 'fLaC'],
  ['audio/ogg', 0, 'OggS'],
  ['audio/mp4', 4, 'ftypM4A '],
  ['video/mp4', 4, 'ftyp'],
  ['video/webm', 0, '\x1aE\xdf\xa3']
]

/** Names that clients have for a type, beside its own. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ['image/jpg', 'image/jpeg'],
  ['image/pjpeg', 'image/jpeg'],
  ['image/x-png', 'image/png'],
  ['audio/mp3', 'audio/mpeg'],
  ['audio/x-wav', 'audio/wav'],
  ['audio/wave', 'audio/wav'],
  ['audio/vnd.wave', 'audio/wav'],
  ['application/x-pdf', 'application/pdf']
])

/** Types that say nothing of a file. */
const SAYS_NOTHING = /^$|^(?:application|binary)\/(?:octet-stream|unknown)$|\*/

/**
 * The type of a file of a client: what it declares, by its usual name and without a charset where it is no text. A type that says nothing,
 * or that of another image, is replaced by what the content shows; undefined if it shows nothing either.
 */
export function contentTypeOf(declared: string, base64: string): string | undefined {
  const [bare = '', ...parameters] = declared.split(';').map((part) => part.trim())
  const lower = bare.toLowerCase()
  const named = ALIASES.get(lower) ?? lower
  if (SAYS_NOTHING.test(named)) return typeOfContent(base64)
  if (named.startsWith('image/')) {
    const shown = typeOfContent(base64)
    return shown?.startsWith('image/') ? shown : named
  }
  if (named === lower && (named.startsWith('text/') || parameters.length === 0)) return declared
  return [named, ...parameters.filter((parameter) => !/^charset=/i.test(parameter))].join(';')
}

function typeOfContent(base64: string): string | undefined {
  const sample = Buffer.from(base64.slice(0, (SAMPLE / 3) * 4), 'base64')
  const head = sample.toString('latin1', 0, 16)
  const found = MAGIC.find(([, at, bytes]) => head.startsWith(bytes, at))
  return found?.[0] ?? (isText(sample) ? 'text/plain' : undefined)
}

// The sample may end within a character.
function isText(sample: Buffer): boolean {
  // oxlint-disable-next-line no-control-regex -- control characters are what it looks for
  const odd = /[\x00-\x08\x0e-\x1a\x7f]/
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(sample, { stream: true })
    return text !== '' && !odd.test(text)
  } catch {
    return false
  }
}
