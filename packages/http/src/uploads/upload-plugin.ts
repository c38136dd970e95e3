import type { FastifyPluginAsync } from 'fastify'
import fp from 'fastify-plugin'
import { resolveUploadLimits, type FileUploadOptions } from './file-upload-options.ts'
import { receiveUploads } from './receive-uploads.ts'
import type { Uploads } from './uploads.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The content of a `multipart/form-data` request, from `preValidation` on; undefined for other requests. */
    uploads: Uploads | undefined
  }
}

/**
 * Creates a Fastify plugin that makes the routes of its scope accept `multipart/form-data`, read before validation:
 * `request.uploads.files` are temporary files, `request.uploads.fields` the text fields, also as `request.body`. Text is
 * limited by the `bodyLimit` of the route. The files are removed when the reply completes or the connection is lost, or
 * after the work passed to `request.uploads.keepUntil`. Register it once per scope.
 *
 * It refuses requests with HTTP_ERR_BAD_MULTIPART (400), HTTP_ERR_BODY_TOO_LARGE and HTTP_ERR_UPLOAD_TOO_LARGE (413), and
 * HTTP_ERR_UPLOAD_TYPE (415).
 * @throws HTTP_ERR_BAD_OPTION
 */
export function uploadPlugin(options: FileUploadOptions = {}): FastifyPluginAsync {
  const limits = resolveUploadLimits(options)
  return fp(async (scope) => receiveUploads(scope, { limits }), {
    name: '@svc/http/uploads',
    fastify: '5.x'
  })
}
