import multipart from '@fastify/multipart'
import { toLoggable } from '@svc/registry'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { HTTP_ERR_CLIENT_CLOSED } from '../errors.ts'
import { discardRest } from '../errors/discard-rest.ts'
import { readUploads, type FormRules } from './read-uploads.ts'
import { removeLeftBehind } from './remove-left-behind.ts'
import { TempDirectory } from './temp-directory.ts'
import { Uploads } from './uploads.ts'

const FORM = 'multipart/form-data'

/** Makes a scope take multipart forms: `request.uploads` has their fields and files, `request.body` the fields. */
export async function receiveUploads(scope: FastifyInstance, rules: FormRules): Promise<void> {
  const open = new Set<TempDirectory>()
  await tidyUp(scope)
  const forms = await takeMultipart(scope)
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
    const replied = whenOver(reply)
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

  // What outlives its reply does not outlive the app.
  scope.addHook('onClose', async () => {
    await Promise.all([...open].map((directory) => directory.remove()))
  })
}

// What cannot be removed now may be later.
async function tidyUp({ log }: FastifyInstance): Promise<void> {
  try {
    const removed = await removeLeftBehind()
    if (removed > 0) log.info({ removed }, 'uploaded files of a process that was killed are removed')
  } catch (err) {
    log.warn({ err: toLoggable(err) }, 'uploaded files of a process that was killed could not be removed')
  }
}

/**
 * Gives the requests of the scope that have a form. A parser of our own finds them: of those that the parser of
 * `@fastify/multipart` marks, hooks of the app's own `@fastify/multipart` (`attachFieldsToBody`) read the body, too.
 */
async function takeMultipart(scope: FastifyInstance): Promise<Pick<WeakSet<FastifyRequest>, 'has'>> {
  if (!scope.hasPlugin('@fastify/multipart')) await scope.register(multipart)
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

// Complete, or broken off.
function whenOver({ raw }: FastifyReply): Promise<void> {
  return new Promise((resolve) => {
    if (raw.destroyed) resolve()
    else raw.once('close', resolve)
  })
}
