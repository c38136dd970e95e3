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
  HTTP_ERR_UPLOAD_TOO_LARGE
} from '../errors.ts'
import { requireDeclaredType, resolveType, SAMPLE_SIZE } from './check-type.ts'
import { readParts } from './read-parts.ts'
import type { TempDirectory } from './temp-directory.ts'
import { toFileName, UploadedFile } from './uploads.ts'

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
  let file: { path: string; handle: FileHandle } | undefined
  let mimeType: string | undefined
  let sample: Buffer = Buffer.alloc(0)
  let size = 0
  const hash = createHash('sha256')

  const settleType = async () => {
    mimeType = await resolveType(declared, sample.subarray(0, SAMPLE_SIZE), limits.allowedMimeTypes)
    file = await directory.createFile()
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
    const { path } = file ?? (await settleType())
    return { path, size, sha256: hash.digest('hex'), mimeType: mimeType ?? declared }
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
