import { RunBodySchema, type RunBody } from '@svc/contract'
import { decodeJson } from '@svc/surface'
import type { FastifyInstance } from 'fastify'
import { HTTP_ERR_BAD_JSON } from '../errors.ts'
import { validationError } from '../requests/validator.ts'
import { buildInput } from './build-input.ts'
import type { UploadLimits } from './file-upload-options.ts'
import { receiveUploads } from './receive-uploads.ts'

const FILES = 'files'

/** The fields of a form whose text is JSON. */
export const JSON_FIELDS = ['metadata', 'webhook', 'messages', 'tools'] as const satisfies (keyof RunBody)[]

/**
 * Makes the routes of a scope that start runs accept forms: text in `input`, files in `files`, the other properties as
 * text, lists and objects as JSON. The body is then validated like JSON.
 */
export async function takeRunForms(
  scope: FastifyInstance,
  limits: UploadLimits,
  maxTextSize: number,
  jsonDepth: number
): Promise<void> {
  await receiveUploads(scope, { limits, maxTextSize, requireField })

  scope.addHook('preValidation', async (request) => {
    if (request.uploads === undefined) return
    const { fields, files } = request.uploads
    // Without both, the start of the run reports the missing input.
    const hasInput = fields['input'] !== undefined || files.length > 0
    request.body = {
      ...fields,
      ...parseJsonFields(fields, jsonDepth),
      ...(hasInput && { input: buildInput(fields, files) })
    }
  })
}

function parseJsonFields(fields: Readonly<Record<string, string>>, depth: number): Record<string, unknown> {
  const parsed: Record<string, unknown> = {}
  for (const name of JSON_FIELDS) {
    const json = fields[name]
    if (json !== undefined) parsed[name] = decodeJson(Buffer.from(json), depth, HTTP_ERR_BAD_JSON)
  }
  return parsed
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
