import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { Type } from '@sinclair/typebox'
import { optionsSchema, requireOptions } from '@svc/contract'
import type { FastifyRequest } from 'fastify'
import {
  HTTP_ERR_BAD_MULTIPART,
  HTTP_ERR_BAD_OPTION,
  HTTP_ERR_BODY_TOO_LARGE,
  HTTP_ERR_UPLOAD_TOO_LARGE,
  HTTP_ERR_UPLOAD_TYPE
} from '../errors.ts'
import { readParts } from './read-parts.ts'
import type { TempDirectory } from './temp-directory.ts'
import { toFileName, UploadedFile } from './uploads.ts'

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
const SAMPLE_SIZE = 4100

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
  // Loaded with the first upload.
  const { fileTypeFromBuffer, supportedMimeTypes } = await import('file-type')
  const detected = await sniff(sample, fileTypeFromBuffer)
  if (declared === UNKNOWN) {
    requirePermitted(detected ?? UNKNOWN, allowed)
    return detected ?? UNKNOWN
  }
  if (contradicts(declared, detected, sample, supportedMimeTypes)) {
    throw new HTTP_ERR_UPLOAD_TYPE(`the content of a file is not ${declared}`)
  }
  return declared
}

async function sniff(
  sample: Uint8Array,
  fileTypeFromBuffer: (sample: Uint8Array) => Promise<{ mime: string } | undefined>
): Promise<string | undefined> {
  try {
    const found = await fileTypeFromBuffer(sample)
    return found?.mime.split(';', 1)[0]?.toLowerCase()
  } catch {
    return undefined
  }
}

function contradicts(
  declared: string,
  detected: string | undefined,
  sample: Uint8Array,
  supportedMimeTypes: ReadonlySet<string>
): boolean {
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

/** Rules for the content of a form. */
export interface FormRules {
  readonly limits: UploadLimits
  /** Bytes of all text fields together; default the `bodyLimit` of the route. */
  readonly maxTextSize?: number | undefined
  /** Throws to refuse a field by its name; default all are accepted. */
  readonly requireField?: ((name: string, kind: 'text' | 'file') => void) | undefined
}

const MAX_FIELDS = 100
// Bytes of the headers of one part.
const MAX_HEADER_SIZE = 81_920

/**
 * Reads a form: text into memory, files into the directory.
 * @throws HTTP_ERR_BAD_MULTIPART, HTTP_ERR_BODY_TOO_LARGE, HTTP_ERR_UPLOAD_TOO_LARGE, HTTP_ERR_UPLOAD_TYPE
 */
export async function readUploads(
  request: FastifyRequest,
  { limits, maxTextSize = request.routeOptions.bodyLimit ?? 1_048_576, requireField }: FormRules,
  directory: TempDirectory
): Promise<{ fields: Record<string, string>; files: UploadedFile[] }> {
  const fields: Record<string, string> = {}
  const files: UploadedFile[] = []
  let sizeLeft = limits.maxTotalSize
  let textLeft = maxTextSize
  requireLength(request, sizeLeft + textLeft + (limits.maxFiles + MAX_FIELDS) * MAX_HEADER_SIZE)

  for await (const { name, filename, mimeType, content } of readParts(request)) {
    if (name in Object.prototype || name === 'prototype') {
      throw new HTTP_ERR_BAD_MULTIPART('a field has a forbidden name')
    }
    if (filename === undefined) {
      requireField?.(name, 'text')
      if (Object.hasOwn(fields, name)) throw new HTTP_ERR_BAD_MULTIPART('a field is given twice')
      if (Object.keys(fields).length === MAX_FIELDS) throw new HTTP_ERR_BODY_TOO_LARGE()
      const { text, size } = await readText(content, textLeft)
      textLeft -= size
      fields[name] = text
    } else if (filename === '') {
      // Browsers send an empty part for an empty file input.
      for await (const _ of content) throw new HTTP_ERR_BAD_MULTIPART('a file has no name')
    } else {
      requireField?.(name, 'file')
      if (files.length === limits.maxFiles) throw new HTTP_ERR_UPLOAD_TOO_LARGE('there are too many files')
      requireDeclaredType(mimeType, limits.allowedMimeTypes)
      const { path, ...stored } = await storeFile({ mimeType, content }, limits, sizeLeft, directory)
      sizeLeft -= stored.size
      files.push(new UploadedFile({ fieldName: name, filename: toFileName(filename), ...stored }, path))
    }
  }
  return { fields, files }
}

function requireLength({ headers }: FastifyRequest, max: number): void {
  if (Number(headers['content-length']) > max) throw new HTTP_ERR_UPLOAD_TOO_LARGE('the body is too large')
}

/**
 * Reads a text field of at most `maxSize` bytes.
 * @throws HTTP_ERR_BODY_TOO_LARGE, HTTP_ERR_BAD_MULTIPART if it is not UTF-8
 */
async function readText(
  content: AsyncIterable<Buffer>,
  maxSize: number
): Promise<{ text: string; size: number }> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of content) {
    size += chunk.length
    if (size > maxSize) throw new HTTP_ERR_BODY_TOO_LARGE()
    chunks.push(chunk)
  }
  const bytes = Buffer.concat(chunks)
  if (!isUtf8(bytes)) throw new HTTP_ERR_BAD_MULTIPART('a field is not UTF-8')
  return { text: bytes.toString(), size }
}

/** A file of a form. */
interface IncomingFile {
  /** In lower case. */
  readonly mimeType: string
  readonly content: AsyncIterable<Buffer>
}

/**
 * Streams a file to disk with back-pressure, and hashes it on the way. Nothing is written before its type is accepted.
 * @param maxSize bytes left for all files of the request
 * @throws HTTP_ERR_UPLOAD_TOO_LARGE, HTTP_ERR_UPLOAD_TYPE
 */
async function storeFile(
  { mimeType: declared, content }: IncomingFile,
  limits: UploadLimits,
  maxSize: number,
  directory: TempDirectory
): Promise<{ path: string; size: number; sha256: string; mimeType: string }> {
  let file: { path: string; handle: FileHandle; mimeType: string } | undefined
  let sample: Buffer = Buffer.alloc(0)
  let size = 0
  const hash = createHash('sha256')

  const settleType = async () => {
    const mimeType = await resolveType(declared, sample.subarray(0, SAMPLE_SIZE), limits.allowedMimeTypes)
    file = { ...(await directory.createFile()), mimeType }
    await file.handle.writeFile(sample)
    return file
  }

  try {
    for await (const chunk of content) {
      size += chunk.length
      if (size > limits.maxFileSize) throw new HTTP_ERR_UPLOAD_TOO_LARGE('a file is too large')
      if (size > maxSize) throw new HTTP_ERR_UPLOAD_TOO_LARGE('the files are too large together')
      hash.update(chunk)
      if (file !== undefined) await file.handle.writeFile(chunk)
      else if ((sample = Buffer.concat([sample, chunk])).length >= SAMPLE_SIZE) await settleType()
    }
    const { path, mimeType } = file ?? (await settleType())
    return { path, size, sha256: hash.digest('hex'), mimeType }
  } finally {
    await file?.handle.close()
  }
}

/** Limits of the uploads of one request. */
export interface FileUploadOptions {
  /** Bytes of one file; default 52,428,800. */
  maxFileSize?: number
  /** Files; default 10. */
  maxFiles?: number
  /** Types like `image/png` or `image/*`; default all. */
  allowedMimeTypes?: string[]
  /** Bytes of all files together; default `maxFiles` × `maxFileSize`. */
  maxTotalSize?: number
}

const MIME_PATTERN = '^[\\w!#$&^.+-]+/([\\w!#$&^.+-]+|\\*)$'

export const FileUploadOptionsSchema = optionsSchema<FileUploadOptions>({
  maxFileSize: Type.Integer({ minimum: 1 }),
  maxFiles: Type.Integer({ minimum: 1, maximum: 1000 }),
  allowedMimeTypes: Type.Array(Type.String({ pattern: MIME_PATTERN, maxLength: 255 }), { minItems: 1 }),
  maxTotalSize: Type.Integer({ minimum: 1 })
})

const DEFAULTS = Object.freeze({ maxFileSize: 52_428_800, maxFiles: 10 })

/** The options with their defaults. */
export interface UploadLimits {
  /** Bytes. */
  readonly maxFileSize: number
  readonly maxFiles: number
  /** Bytes. */
  readonly maxTotalSize: number
  /** In lower case; undefined allows all. */
  readonly allowedMimeTypes: readonly string[] | undefined
}

/** Validates the options and fills in the defaults. @throws HTTP_ERR_BAD_OPTION */
export function resolveUploadLimits(given: true | FileUploadOptions = true): UploadLimits {
  const options = given === true ? {} : given
  requireOptions(FileUploadOptionsSchema, options, HTTP_ERR_BAD_OPTION)
  const { maxFileSize = DEFAULTS.maxFileSize, maxFiles = DEFAULTS.maxFiles, allowedMimeTypes } = options
  return {
    maxFileSize,
    maxFiles,
    maxTotalSize: options.maxTotalSize ?? maxFiles * maxFileSize,
    allowedMimeTypes: allowedMimeTypes?.map((type) => type.toLowerCase())
  }
}
