import { fileTypeFromBuffer, supportedMimeTypes } from 'file-type'
import { HTTP_ERR_UPLOAD_TYPE } from '../errors.ts'
import { isContainer, isSameFamily, isTextual } from './mime-families.ts'

/** Bytes from the start of a file that show its type. */
export const SAMPLE_SIZE = 4100

const UNKNOWN = 'application/octet-stream'
const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/
// Their magic bytes are two or three letters, which may also begin a text.
const SHORT_MAGIC = new Set(['image/bmp', 'application/x-msdownload', 'audio/mpeg', 'audio/x-musepack'])
// Formats whose files may lack their magic bytes.
const WITHOUT_MAGIC = new Set(['audio/mpeg', 'video/mpeg', 'video/mp2t', 'application/x-tar', 'model/stl'])

/** Checks that a declared type is well formed and permitted. @throws HTTP_ERR_UPLOAD_TYPE */
export function requireDeclaredType(declared: string, allowed: readonly string[] | undefined): void {
  if (declared.length > 255 || !MEDIA_TYPE.test(declared)) {
    throw new HTTP_ERR_UPLOAD_TYPE('the declared type of a file is not a media type')
  }
  if (declared !== UNKNOWN) requirePermitted(declared, allowed)
}

/**
 * Resolves the type of a file: the declared one, or for `application/octet-stream` the one detected from the content.
 * @throws HTTP_ERR_UPLOAD_TYPE if the content contradicts the declared type, or the type is not permitted
 */
export async function resolveType(
  declared: string,
  sample: Uint8Array,
  allowed: readonly string[] | undefined
): Promise<string> {
  const detected = await sniff(sample)
  if (declared === UNKNOWN) {
    requirePermitted(detected ?? UNKNOWN, allowed)
    return detected ?? UNKNOWN
  }
  if (contradicts(declared, detected, sample)) {
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

function contradicts(declared: string, detected: string | undefined, sample: Uint8Array): boolean {
  if (detected === undefined) {
    return supportedMimeTypes.has(declared) && !isTextual(declared) && !WITHOUT_MAGIC.has(declared)
  }
  if (isSameFamily(declared, detected)) return false
  if (isTextual(declared)) return !isTextual(detected) && !(SHORT_MAGIC.has(detected) && isPlainText(sample))
  // A custom format without known magic bytes.
  const isOwnFormat = declared.startsWith('application/') && !supportedMimeTypes.has(declared)
  return !(isOwnFormat && isContainer(detected))
}

function isPlainText(sample: Uint8Array): boolean {
  // oxlint-disable-next-line no-control-regex -- control characters are what it looks for
  return !/[\x00-\x08\x0e-\x1a\ufffd]/.test(new TextDecoder().decode(sample, { stream: true }))
}

function requirePermitted(type: string, allowed: readonly string[] | undefined): void {
  const group = `${type.slice(0, type.indexOf('/'))}/*`
  if (allowed === undefined || allowed.includes(type) || allowed.includes(group)) return
  throw new HTTP_ERR_UPLOAD_TYPE('the type of a file is not permitted')
}
