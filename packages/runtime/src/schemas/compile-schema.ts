import type { TSchema } from '@sinclair/typebox'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import {
  faultsOfIssues,
  formatFaults,
  isPromise,
  keysOf,
  toFaults,
  validateStandard,
  type Awaitable,
  type Fault,
  type StandardResult
} from '@svc/contract'
import { Ajv } from 'ajv'
import formats from 'ajv-formats'
import { isStandard, isTypeBox, toPlainSchema, type PlainSchema } from './plain-schema.ts'
import type { Schema } from './schema.ts'

/** A valid value after the schema's transforms, or the faults of an invalid one with their paths. */
export type Validated =
  | { readonly value: unknown; readonly fault?: undefined }
  | { readonly fault: string; readonly faults?: readonly Fault[] }

/** Validates a value and never changes it; only a Standard Schema transforms, and only one may be asynchronous. */
export type Validate = (value: unknown) => Awaitable<Validated>

/** A schema, ready for use. */
export interface CompiledSchema {
  /** The JSON Schema of the values it accepts. */
  readonly plain: PlainSchema
  readonly validate: Validate
}

const AJV_OPTIONS = {
  strict: false,
  allErrors: true,
  // Else `toString` and other inherited names would count as given.
  ownProperties: true,
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
  const validate = isStandard(schema) ? validatorOf(schema, subject) : validatePlain(plain, subject, toError)
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
  const standard = {
    version: 1,
    vendor: '@svc/runtime',
    validate: (value: unknown) =>
      isStandard(schema) ? validateStandard(schema, value) : toResult(validate(value) as Validated)
  }
  return Object.defineProperty(plain, '~standard', { value: standard }) as unknown as TSchema
}

function validatePlain(plain: PlainSchema, subject: string, toError: (fault: string) => Error): Validate {
  // Ajv would validate by a promise, which counts as valid.
  if ('$async' in plain) throw toError('has the keyword $async; only a Standard Schema may be asynchronous')
  try {
    // A shared instance would confuse schemas with one `$id`, and keep those of short-lived tools forever.
    const check = formats.default(new Ajv(AJV_OPTIONS)).compile(plain)
    return (value) => (check(value) ? { value } : toInvalid(toFaults(check.errors ?? []), subject))
  } catch (err) {
    throw toError(`cannot be compiled: ${(err as Error).message}`)
  }
}

function validatorOf(schema: StandardSchemaV1, subject: string): Validate {
  const settle = (result: StandardResult): Validated =>
    result.issues === undefined ? { value: result.value } : toInvalid(faultsOfIssues(result.issues), subject)
  return (value) => {
    const result = validateStandard(schema, value)
    return isPromise(result) ? result.then(settle) : settle(result)
  }
}

function toInvalid(faults: readonly Fault[], subject: string): Validated {
  return { fault: formatFaults(faults, subject), faults }
}

function toResult(validated: Validated): StandardResult {
  if (validated.fault === undefined) return { value: validated.value }
  return { issues: (validated.faults ?? []).map(({ path, message }) => ({ message, path: keysOf(path) })) }
}
