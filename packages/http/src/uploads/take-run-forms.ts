import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import {
  ContentPartSchema,
  RunBodySchema,
  type AcceptedMessage,
  type ContentPart,
  type FileContentPart,
  type RunBody
} from '@svc/contract'
import { decodeJson } from '@svc/surface'
import type { FastifyInstance } from 'fastify'
import { HTTP_ERR_BAD_JSON, HTTP_ERR_BAD_OPTION } from '../errors.ts'
import { validationError } from '../requests/validator.ts'
import type { UploadLimits } from './read-uploads.ts'
import { receiveUploads } from './receive-uploads.ts'
import type { UploadedFile } from './uploads.ts'

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

/**
 * Builds the input of a runnable from the `body` of a request, whose `input` is a text or a list of content parts, and its
 * uploaded files: `input` itself without files, else its parts followed by the files. The content stays on disk; read it
 * by `part.file.stream()` during the run.
 * @throws HTTP_ERR_VALIDATION if `input` is invalid, or missing without files
 * @throws HTTP_ERR_BAD_OPTION if an item of `files` is no uploaded file
 */
export function buildInput(body: unknown, files: readonly UploadedFile[] = []): AcceptedMessage {
  if (!Array.isArray(files) || !files.every(isFile))
    throw new HTTP_ERR_BAD_OPTION('buildInput: files must be a list of uploaded files')
  const input = readInput(body, files.length > 0)
  if (files.length === 0) return input
  const said = typeof input === 'string' ? toTextParts(input) : input
  return [...said, ...files.map(toPart)]
}

const PartsSchema = Type.Array(ContentPartSchema, { minItems: 1 })

function readInput(body: unknown, hasFiles: boolean): string | ContentPart[] {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw fault('body', 'must be an object')
  const input: unknown = Object.hasOwn(body, 'input') ? (body as { input?: unknown }).input : undefined
  if (typeof input === 'string' || Value.Check(PartsSchema, input)) return input
  if (input !== undefined) throw fault('body/input', 'must be a text or a list of content parts')
  if (!hasFiles) throw fault('body/input', 'is required')
  return ''
}

function fault(path: string, message: string): Error {
  return validationError([{ path, message }])
}

function isFile(value: unknown): value is UploadedFile {
  const { mimeType, size, stream } = (value ?? {}) as Partial<UploadedFile>
  return typeof mimeType === 'string' && typeof size === 'number' && typeof stream === 'function'
}

function toTextParts(text: string): ContentPart[] {
  return text === '' ? [] : [{ type: 'text', text }]
}

function toPart(file: UploadedFile): FileContentPart {
  const { mimeType, filename, size, sha256 } = file
  const kind = /^(image|audio)\//.exec(mimeType)?.[1] as 'image' | 'audio' | undefined
  return {
    type: kind ?? 'file',
    mimeType,
    ...(filename !== undefined && { filename }),
    file: { size, sha256, stream: () => file.stream() }
  }
}
