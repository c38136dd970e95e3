import type { TSchema } from '@sinclair/typebox'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Awaitable } from '@svc/registry'
import { isPromise } from '@svc/registry/kit'
import { Ajv, type ErrorObject } from 'ajv'
import formats from 'ajv-formats'
import { isStandard, isTypeBox, toPlainSchema, type PlainSchema } from './plain-schema.ts'
import type { Schema } from './schema.ts'

/** A valid value after the schema's transforms, or the faults of an invalid one with their paths. */
export type Validated =
  | { readonly value: unknown; readonly fault?: undefined }
  | { readonly fault: string; readonly issues?: readonly StandardSchemaV1.Issue[] }

/** Validates a value and never changes it; only a Standard Schema transforms, and only one may be asynchronous. */
export type Validate = (value: unknown) => Awaitable<Validated>

/** A schema, ready for use. */
export interface CompiledSchema {
  /** The JSON Schema of the values it accepts. */
  readonly plain: PlainSchema
  readonly validate: Validate
}

const MAX_FAULTS = 5
const AJV_OPTIONS = {
  strict: false,
  allErrors: true,
  logger: false,
  meta: false,
  validateSchema: false
} as const

/** Compiles a schema; faults of a whole value name it by `subject`. @throws the error `toError` makes */
export function compileSchema(
  schema: Schema,
  subject: string,
  toError: (fault: string) => Error
): CompiledSchema {
  const plain = toPlainSchema(schema, toError)
  const validate = isStandard(schema)
    ? validateStandard(schema, subject)
    : validatePlain(plain, subject, toError)
  return { plain, validate }
}

/**
 * The schema of a runnable's input: TypeBox as it is, any other as its JSON Schema with a hidden `~standard`, by which the
 * run engine validates.
 * @throws the error `toError` makes
 */
export function toInputSchema(schema: Schema, toError: (fault: string) => Error): TSchema {
  const { plain, validate } = compileSchema(schema, 'the input', toError)
  if (isTypeBox(schema)) return schema
  const standard = isStandard(schema)
    ? schema['~standard']
    : {
        version: 1,
        vendor: '@svc/runtime',
        validate: (value: unknown) => toResult(validate(value) as Validated)
      }
  return Object.defineProperty(plain, '~standard', { value: standard }) as unknown as TSchema
}

function validatePlain(plain: PlainSchema, subject: string, toError: (fault: string) => Error): Validate {
  try {
    // A shared instance would confuse schemas with one `$id`, and keep those of short-lived tools forever.
    const check = formats.default(new Ajv(AJV_OPTIONS)).compile(plain)
    return (value) => {
      if (check(value)) return { value }
      const issues = (check.errors ?? []).slice(0, MAX_FAULTS).map(toIssue)
      return { fault: issues.map((issue) => formatIssue(issue, subject, ' ')).join('; '), issues }
    }
  } catch (err) {
    throw toError(`cannot be compiled: ${(err as Error).message}`)
  }
}

function validateStandard({ '~standard': standard }: StandardSchemaV1, subject: string): Validate {
  const settle = (result: StandardSchemaV1.Result<unknown>): Validated => {
    if (result.issues === undefined) return { value: result.value }
    const issues = result.issues.slice(0, MAX_FAULTS)
    return { fault: issues.map((issue) => formatIssue(issue, subject, ': ')).join('; '), issues }
  }
  return (value) => {
    const result = standard.validate(value)
    return isPromise(result) ? result.then(settle) : settle(result)
  }
}

function toResult(validated: Validated): StandardSchemaV1.Result<unknown> {
  return validated.fault === undefined ? { value: validated.value } : { issues: validated.issues ?? [] }
}

function toIssue({ instancePath, message = 'is bad', keyword, params }: ErrorObject): StandardSchemaV1.Issue {
  const extra = keyword === 'additionalProperties' ? ` ("${String(params['additionalProperty'])}")` : ''
  const values = keyword === 'enum' ? `: ${JSON.stringify(params['allowedValues'])}` : ''
  return { message: `${message}${extra}${values}`, path: instancePath.split('/').slice(1) }
}

function formatIssue(
  { message, path = [] }: StandardSchemaV1.Issue,
  subject: string,
  separator: ' ' | ': '
): string {
  const keys = path.map((segment) => String(typeof segment === 'object' ? segment.key : segment))
  return `${keys.length === 0 ? subject : keys.join('.')}${separator}${message}`
}
