import { fileTypeFromBuffer, supportedMimeTypes } from 'file-type'
import { HTTP_ERR_UPLOAD_TYPE } from '../errors.ts'
import { isContainer, isSameFamily, isTextual } from './mime-families.ts'

/** Bytes from the start of a file that show its type. */
export const SAMPLE_SIZE = 4100

const UNKNOWN = 'application/octet-stream'
const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/
// Two or three letters, with which a text may begin as well.
const SHORT_MAGIC = new Set(['image/bmp', 'application/x-msdownload', 'audio/mpeg', 'audio/x-musepack'])
// Formats that do not always begin with their magic bytes.
const WITHOUT_MAGIC = new Set(['audio/mpeg', 'video/mpeg', 'video/mp2t', 'application/x-tar', 'model/stl'])

/** Makes sure that a declared type can be one, and is permitted. @throws HTTP_ERR_UPLOAD_TYPE */
export function requireDeclaredType(declared: string, allowed: readonly string[] | undefined): void {
  if (declared.length > 255 || !MEDIA_TYPE.test(declared)) {
    throw new HTTP_ERR_UPLOAD_TYPE('the declared type of a file is none')
  }
  if (declared !== UNKNOWN) requirePermitted(declared, allowed)
}

/**
 * The type of a file: the declared one, or where that is `application/octet-stream`, the one that the content shows.
 * @throws HTTP_ERR_UPLOAD_TYPE when the content contradicts the declared type, or the type is not permitted
 */
export async function resolveType(
  declared: string,
  sample: Uint8Array,
  allowed: readonly string[] | undefined
): Promise<string> {
  const shown = await sniff(sample)
  if (declared === UNKNOWN) {
    requirePermitted(shown ?? UNKNOWN, allowed)
    return shown ?? UNKNOWN
  }
  if (contradicts(declared, shown, sample)) {
    throw new HTTP_ERR_UPLOAD_TYPE(`the content of a file is not ${declared}`)
  }
  return declared
}

async function sniff(sample: Uint8Array): Promise<string | undefined> {
  try {
    const found = await fileTypeFromBuffer(sample)
    return found?.mime.split(';', 1)[0]?.toLowerCase()
  } catch {
    return undefined
  }
}

function contradicts(declared: string, shown: string | undefined, sample: Uint8Array): boolean {
  if (shown === undefined) {
    return supportedMimeTypes.has(declared) && !isTextual(declared) && !WITHOUT_MAGIC.has(declared)
  }
  if (isSameFamily(declared, shown)) return false
  if (isTextual(declared)) return !isTextual(shown) && !(SHORT_MAGIC.has(shown) && isPlainText(sample))
  // A format that nobody knows the magic bytes of.
  const isOwnFormat = declared.startsWith('application/') && !supportedMimeTypes.has(declared)
  return !(isOwnFormat && isContainer(shown))
}

function isPlainText(sample: Uint8Array): boolean {
  // oxlint-disable-next-line no-control-regex -- control characters are what it looks for
  return !/[\x00-\x08\x0e-\x1a\ufffd]/.test(new TextDecoder().decode(sample, { stream: true }))
}

function requirePermitted(type: string, allowed: readonly string[] | undefined): void {
  const group = `${type.slice(0, type.indexOf('/'))}/*`
  if (allowed === undefined || allowed.includes(type) || allowed.includes(group)) return
  throw new HTTP_ERR_UPLOAD_TYPE('a file is of a type that is not taken here')
}
