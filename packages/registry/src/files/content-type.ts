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
