import type { Static, TSchema } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { findFaults, formatFaults } from '@svc/contract'
import { invalidParams } from './rpc-error.ts'

/** Compiles the check of a value by its schema. @param root its name in errors @param status of the reply */
export function checkParams<T extends TSchema>(
  schema: T,
  root = 'params',
  status?: number
): (value: unknown) => Static<T> {
  const check = TypeCompiler.Compile(schema)
  return (value) => {
    if (check.Check(value)) return value
    throw invalidParams(formatFaults(findFaults(schema, value, { root })), status)
  }
}
