import type { FastifyPluginAsync } from 'fastify'
import fp from 'fastify-plugin'
import { resolveUploadLimits, type FileUploadOptions } from './file-upload-options.ts'
import { receiveUploads } from './receive-uploads.ts'
import type { Uploads } from './uploads.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** What a `multipart/form-data` request holds, from `preValidation` on; `undefined` for any other request. */
    uploads: Uploads | undefined
  }
}

/**
 * A Fastify plugin with which the routes of its scope take `multipart/form-data`, read before their body is validated:
 * `request.uploads.files` are temporary files, `request.uploads.fields` the text fields, which are also `request.body`. Text
 * is limited by the `bodyLimit` of the route. The files are gone when the reply is complete or the connection lost, or when
 * the work given to `request.uploads.keepUntil` has ended. Register it once in a scope.
 *
 * Requests are refused with HTTP_ERR_BAD_MULTIPART (400), HTTP_ERR_BODY_TOO_LARGE and HTTP_ERR_UPLOAD_TOO_LARGE (413), and
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
