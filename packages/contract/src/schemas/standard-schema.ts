import { isPromise, type Awaitable } from '../awaitable.ts'
import { RUN_ERR_BAD_SCHEMA } from '../errors.ts'
import type { StandardIssue } from './faults.ts'

/** A Standard Schema (standardschema.dev), as far as validation needs it. */
export interface StandardSchema {
  readonly '~standard': { validate(value: unknown): unknown }
}

/** A valid value after the schema's transforms, or the issues of an invalid one, at least one. */
export type StandardResult =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] }

/** The internals of Zod 4, which it documents for other libraries. */
interface ZodSchema extends StandardSchema {
  readonly _zod: { run(payload: ZodPayload, context: { async: boolean }): Awaitable<ZodPayload> }
  safeParseAsync(value: unknown): Promise<{ data?: unknown; error?: { issues: unknown } }>
}

interface ZodPayload {
  readonly value: unknown
  readonly issues: readonly unknown[]
}

/**
 * Validates a value by a Standard Schema. The rejection of a returned promise is never unhandled, awaited or not.
 * @throws RUN_ERR_BAD_SCHEMA for a result that is none, or the error of the schema
 */
export function validateStandard(schema: StandardSchema, value: unknown): Awaitable<StandardResult> {
  const result = isZod(schema) ? validateZod(schema, value) : schema['~standard'].validate(value)
  if (!isPromise(result)) return requireResult(result)
  const settled = Promise.resolve(result).then(requireResult)
  settled.catch(() => {})
  return settled
}

// The `validate` of Zod tries every value synchronously first and drops the promises of asynchronous checks: a rejection of
// one would end the process. Only `validate` and `safeParseAsync` complete the messages of issues.
function validateZod(schema: ZodSchema, value: unknown): unknown {
  const { _zod: internals } = schema
  let run: Awaitable<ZodPayload>
  try {
    run = internals.run({ value, issues: [] }, { async: true })
  } catch (err) {
    return Promise.reject(err)
  }
  if (!isPromise(run))
    return run.issues.length === 0 ? { value: run.value } : schema['~standard'].validate(value)
  return run.then(async (payload) => {
    if (payload.issues.length === 0) return { value: payload.value }
    const { data, error } = await schema.safeParseAsync(value)
    return error === undefined ? { value: data } : { issues: error.issues }
  })
}

function isZod(schema: StandardSchema): schema is ZodSchema {
  const { _zod: internals, safeParseAsync } = schema as Partial<ZodSchema>
  return typeof internals?.run === 'function' && typeof safeParseAsync === 'function'
}

function requireResult(result: unknown): StandardResult {
  if (typeof result !== 'object' || result === null) throw badResult(result === null ? 'null' : typeof result)
  const { value, issues } = result as { value?: unknown; issues?: unknown }
  if (issues === undefined) return { value }
  if (!Array.isArray(issues)) throw badResult('issues that are no list')
  // An invalid value without a reason is still invalid.
  if (issues.length === 0) return { issues: [{ message: 'is invalid' }] }
  if (!issues.every(isIssue)) throw badResult('an issue without a message or with a bad path')
  return { issues }
}

function isIssue(issue: unknown): issue is StandardIssue {
  const { message, path = [] } = (issue ?? {}) as { message?: unknown; path?: unknown }
  return typeof message === 'string' && Array.isArray(path) && path.every(isSegment)
}

function isSegment(segment: unknown): boolean {
  const key = typeof segment === 'object' && segment !== null ? (segment as { key?: unknown }).key : segment
  return typeof key === 'string' || typeof key === 'number' || typeof key === 'symbol'
}

function badResult(what: string): Error {
  return new RUN_ERR_BAD_SCHEMA(`its validate returned ${what}`)
}
