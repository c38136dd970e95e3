import { RunBodySchema } from '@svc/registry/kit'
import type { FastifyInstance } from 'fastify'
import { validationError } from '../errors/to-field-errors.ts'
import { buildInput } from './build-input.ts'
import type { UploadLimits } from './file-upload-options.ts'
import { receiveUploads } from './receive-uploads.ts'

const FILES = 'files'

/**
 * Makes the routes of a scope that start runs accept forms: text in `input`, files in `files`, the other properties as
 * text. The body is then validated like JSON.
 */
export async function takeRunForms(
  scope: FastifyInstance,
  limits: UploadLimits,
  maxTextSize: number
): Promise<void> {
  await receiveUploads(scope, { limits, maxTextSize, requireField })

  scope.addHook('preValidation', async (request) => {
    if (request.uploads === undefined) return
    const { fields, files } = request.uploads
    // Without both, validation reports the missing input.
    const hasInput = fields['input'] !== undefined || files.length > 0
    request.body = { ...fields, ...(hasInput && { input: buildInput(fields, files) }) }
  })
}

function requireField(name: string, kind: 'text' | 'file'): void {
  const isKnown = name === FILES || Object.hasOwn(RunBodySchema.properties, name)
  if (!isKnown) refuse(name, 'is not known')
  if (name === FILES && kind === 'text') refuse(name, 'must be files')
  if (name !== FILES && kind === 'file') refuse(name, 'must be text')
}

function refuse(name: string, message: string): never {
  throw validationError([{ path: `body/${name}`, message }])
}
