import { JSON_FIELDS } from '../uploads/take-run-forms.ts'
import { requireOneOf } from './describe-names.ts'
import { refTo, type OpenApiDocument, type Schema } from '@svc/registry/wire-kit'

const files: Schema = {
  type: 'array',
  items: { type: 'string', format: 'binary' },
  description: 'Added to the message in this order'
}

// Else a list would be one field per item.
const encoding = Object.fromEntries(JSON_FIELDS.map((name) => [name, { contentType: 'application/json' }]))

/** Adds `multipart/form-data` to the body of every run: its fields as text or JSON, its files in `files`. */
export function describeUploads(document: OpenApiDocument): void {
  const { schemas } = document.components
  const { RunBody } = schemas
  if (RunBody === undefined) return
  const input: Schema = { type: 'string', description: 'The text of the message' }
  const { input: _json, ...fields } = RunBody.properties ?? {}
  const form = { type: 'object', properties: { input, files, ...fields }, additionalProperties: false }
  schemas['RunForm'] ??= requireOneOf(form, { input, files })
  for (const path of Object.values(document.paths)) {
    for (const { requestBody } of Object.values(path)) {
      if (requestBody?.content['application/json']?.schema.$ref !== refTo('RunBody')) continue
      requestBody.content['multipart/form-data'] ??= { schema: { $ref: refTo('RunForm') }, encoding }
    }
  }
}
