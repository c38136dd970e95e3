import { toLoggable } from '@svc/contract'
import { discardRest } from '@svc/surface'
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { HTTP_ERR_CLIENT_CLOSED } from '../errors.ts'
import { readUploads, resolveUploadLimits, type FileUploadOptions, type FormRules } from './read-uploads.ts'
import { removeLeftBehind, TempDirectory } from './temp-directory.ts'
import { Uploads } from './uploads.ts'

const FORM = 'multipart/form-data'

/** Makes a scope accept multipart forms: `request.uploads` has their fields and files, `request.body` the fields. */
export async function receiveUploads(scope: FastifyInstance, rules: FormRules): Promise<void> {
  const open = new Set<TempDirectory>()
  await removeLeftovers(scope)
  const forms = await acceptMultipart(scope)
  if (!scope.hasRequestDecorator('uploads')) scope.decorateRequest('uploads', undefined)

  scope.addHook('preValidation', async (request, reply) => {
    if (request.is404 || !forms.has(request)) return
    const directory = new TempDirectory()
    open.add(directory)
    directory.removed
      .catch((err: unknown) => {
        request.log.error({ err: toLoggable(err) }, 'uploaded files could not be removed')
      })
      .finally(() => open.delete(directory))
    const replied = untilClosed(reply)
    const reading = read(request, rules, directory)
    directory.keepUntil(replied)
    directory.keepUntil(reading)
    request.uploads = await reading
    if (reply.raw.destroyed) throw new HTTP_ERR_CLIENT_CLOSED()
    request.body = request.uploads.fields
  })

  scope.addHook('preHandler', (request, _reply, done) => {
    if (forms.has(request)) request.isMultipart = () => true
    done()
  })

  // Files kept beyond their reply still go with the app.
  scope.addHook('onClose', async () => {
    await Promise.all([...open].map((directory) => directory.remove()))
  })
}

// A failure must not stop the app; the next process tries again.
async function removeLeftovers({ log }: FastifyInstance): Promise<void> {
  try {
    const removed = await removeLeftBehind()
    if (removed > 0) log.info({ removed }, 'removed uploaded files of a killed process')
  } catch (err) {
    log.warn({ err: toLoggable(err) }, 'uploaded files of a killed process could not be removed')
  }
}

/**
 * Returns the requests of the scope that have a form. Our own parser collects them: if that of `@fastify/multipart` marked
 * them, hooks of the app's own instance (`attachFieldsToBody`) would also read their body.
 */
async function acceptMultipart(scope: FastifyInstance): Promise<Pick<WeakSet<FastifyRequest>, 'has'>> {
  if (!scope.hasPlugin('@fastify/multipart')) await scope.register(import('@fastify/multipart'))
  const forms = new WeakSet<FastifyRequest>()
  scope.removeContentTypeParser(FORM)
  scope.addContentTypeParser(FORM, (request, _payload, done) => {
    forms.add(request)
    done(null)
  })
  return forms
}

async function read(request: FastifyRequest, rules: FormRules, directory: TempDirectory): Promise<Uploads> {
  try {
    const { fields, files } = await readUploads(request, rules, directory)
    return new Uploads(fields, files, directory)
  } catch (err) {
    void discardRest(request.raw)
    throw err
  }
}

// Resolves when the reply is complete or its connection is lost.
function untilClosed({ raw }: FastifyReply): Promise<void> {
  return new Promise((resolve) => {
    if (raw.destroyed) resolve()
    else raw.once('close', resolve)
  })
}

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
