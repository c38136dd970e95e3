import { Type, type Static } from '@sinclair/typebox'
import { requireOptions } from '@svc/registry/kit'
import { HTTP_ERR_BAD_OPTION } from '../errors.ts'

const MIME_PATTERN = '^[\\w!#$&^.+-]+/([\\w!#$&^.+-]+|\\*)$'

/** Limits of the uploads of one request. */
export const FileUploadOptionsSchema = Type.Object(
  {
    maxFileSize: Type.Optional(
      Type.Integer({ minimum: 1, description: 'Bytes of one file; default 52,428,800' })
    ),
    maxFiles: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: 'Files; default 10' })),
    allowedMimeTypes: Type.Optional(
      Type.Array(Type.String({ pattern: MIME_PATTERN, maxLength: 255 }), {
        minItems: 1,
        description: 'Types like `image/png` or `image/*`; default all'
      })
    ),
    maxTotalSize: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: 'Bytes of all files together; default `maxFiles` × `maxFileSize`'
      })
    )
  },
  { title: 'FileUploadOptions', additionalProperties: false }
)
export type FileUploadOptions = Static<typeof FileUploadOptionsSchema>

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
  const { maxFileSize = 52_428_800, maxFiles = 10, allowedMimeTypes } = options
  return {
    maxFileSize,
    maxFiles,
    maxTotalSize: options.maxTotalSize ?? maxFiles * maxFileSize,
    allowedMimeTypes: allowedMimeTypes?.map((type) => type.toLowerCase())
  }
}
