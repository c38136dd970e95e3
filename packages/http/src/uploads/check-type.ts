import { fileTypeFromBuffer, supportedMimeTypes } from 'file-type'
import { HTTP_ERR_UPLOAD_TYPE } from '../errors.ts'

// Synonyms of one format, or a container and its contents. Types of one family do not contradict each other.
const FAMILIES = [
  /^image\/(jpe?g|pjpeg|x-jpe?g|jpx|jls)$/,
  /^image\/(png|x-png|apng|vnd\.mozilla\.apng)$/,
  /^image\/(bmp|x-bmp|x-ms-bmp)$/,
  /^image\/(x-icon|vnd\.microsoft\.icon)$/,
  /^image\/(tiff|x-.+)$/,
  /^image\/(avif|hei[cf])(-sequence)?$/,
  /^image\/(vnd\.adobe\.photoshop|x-photoshop|psd)$/,
  /^audio\/(x-)?(mp[123]|mpeg|mpeg3|mpg)$/,
  /^audio\/(x-|vnd\.)?wave?$/,
  /^audio\/(x-)?aiff?$/,
  /^audio\/(x-)?flac$/,
  /^audio\/(x-)?(midi?)$/,
  /^audio\/(x-)?(aac|aacp|m4a|mp4)$/,
  /^(audio|video)\/(x-)?(mp4|m4[abpv]|quicktime|3gpp2?)$/,
  /^(audio|video)\/(x-)?(webm|matroska)$/,
  /^(application|audio|video)\/(x-)?(ogg|opus|speex)$/,
  /^video\/(mpeg|mp[12]p|mp1s|mp2t)$/i,
  /^video\/((vnd\.|x-ms)?avi|x-msvideo|msvideo)$/,
  /^(application|audio|video)\/(x-ms-|vnd\.ms-)(asf|wm[av])$/,
  /^application\/((x-)?zip(-compressed)?|.+\+zip|java-archive|x-xpinstall|vnd\.(openxmlformats-|oasis\.|android\.|apple\.|ms-.+\.(macroenabled\.)?12).*)$|^model\/3mf$/,
  /^application\/(x-cfb|msword|vnd\.ms-(excel|powerpoint|outlook|project|works)|vnd\.visio|x-msi|x-ole-storage)$/,
  /^application\/(x-)?(gzip|tgz|gtar|compressed-tar)$/,
  /^application\/(x-)?(tar|gtar|ustar)$/,
  /^application\/(x-)?(bzip2?)$/,
  /^application\/(x-)?7z(-compressed)?$/,
  /^application\/(x-|vnd\.)?rar(-compressed)?$/,
  /^application\/(x-|vnd\.)?sqlite3?$/,
  /^application\/(x-msdownload|x-dosexec|x-msdos-program|vnd\.microsoft\.portable-executable)$/,
  /^application\/(x-elf|x-executable|x-sharedlib|x-object)$/,
  /^application\/(postscript|eps|x-eps)$/,
  /^application\/(x-)?pgp(-.+)?$/,
  /^font\/(ttf|otf|sfnt|collection)$/,
  /^(font|application)\/(x-)?(font-)?woff2?$/
]

// Formats that custom formats build on.
const CONTAINERS = /^application\/(zip|x-cfb|gzip|xml|x-sqlite3|x-tar|zstd)$/

const TEXTUAL =
  /^(text\/.+|application\/(.+\+)?(json|xml|yaml|javascript|ecmascript|sql|toml|rtf|postscript|eps|x-sh|x-ms-regedit|x-www-form-urlencoded|x-ndjson|x-yaml|x-httpd-php|graphql|xhtml\+xml|pgp-.+)|image\/svg\+xml)$/

/** Whether a type is textual, so without magic bytes. */
function isTextual(type: string): boolean {
  return TEXTUAL.test(type)
}

/** Whether two types denote one format, or a container and its contents. */
function isSameFamily(one: string, other: string): boolean {
  return one === other || FAMILIES.some((family) => family.test(one) && family.test(other))
}

/** Whether custom formats build on this one. */
function isContainer(type: string): boolean {
  return CONTAINERS.test(type)
}

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
