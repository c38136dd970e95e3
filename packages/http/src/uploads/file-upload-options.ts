import { Type } from '@sinclair/typebox'
import { optionsSchema, requireOptions } from '@svc/contract'
import { HTTP_ERR_BAD_OPTION } from '../errors.ts'

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
