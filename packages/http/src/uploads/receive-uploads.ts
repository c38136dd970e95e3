import multipart from '@fastify/multipart'
import { toLoggable } from '@svc/registry'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { HTTP_ERR_CLIENT_CLOSED } from '../errors.ts'
import { discardRest } from '../discard-rest.ts'
import { readUploads, type FormRules } from './read-uploads.ts'
import { removeLeftBehind } from './remove-left-behind.ts'
import { TempDirectory } from './temp-directory.ts'
import { Uploads } from './uploads.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** What a `multipart/form-data` request holds, from `preValidation` on; `undefined` for any other request. */
    uploads: Uploads | undefined
  }
}

const FORM = 'multipart/form-data'
const kRules = Symbol('svc.upload-rules')
type RuledScope = FastifyInstance & { [kRules]?: FormRules }

/** Makes a scope take multipart forms: `request.uploads` has their fields and files, `request.body` the fields. */
export async function receiveUploads(scope: FastifyInstance, rules: FormRules): Promise<void> {
  const open = new Set<TempDirectory>()
  await tidyUp(scope)
  await takeMultipart(scope)
  if (!scope.hasRequestDecorator('uploads')) scope.decorateRequest('uploads', undefined)
  // Inherited by the scopes inside, unless they have rules of their own.
  ;(scope as RuledScope)[kRules] = rules

  scope.addHook('preValidation', async (request, reply) => {
    if (request.is404 || !request.isMultipart() || (request.server as RuledScope)[kRules] !== rules) return
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

async function takeMultipart(scope: FastifyInstance): Promise<void> {
  if (!scope.hasPlugin('@fastify/multipart')) await scope.register(multipart)
  if (scope.hasContentTypeParser(FORM)) return
  // The plugin came with the app, and its parser was removed from this scope; it cannot be registered twice.
  scope.addContentTypeParser(FORM, (request, _payload, done) => {
    request.isMultipart = () => true
    done(null)
  })
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
