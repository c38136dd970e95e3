import type { Static, TObject } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { A2A_ERR_BAD_PARAMS } from '../errors.ts'
import type { Violation } from './to-fault.ts'

/** Compiles the check of parameters by their schema. */
export function decodeParams<T extends TObject>(schema: T): (params: unknown) => Static<T> {
  const check = TypeCompiler.Compile(schema)
  return (params) => {
    if (check.Check(params)) return params
    const found = check.Errors(params).First()
    throw badParams(toField(found?.path ?? ''), found?.message ?? 'does not fit')
  }
}

/** The error of an invalid field. */
export function badParams(field: string, description: string): Error {
  const errors: Violation[] = [{ field, description }]
  const where = field === '' ? 'params' : field
  return Object.assign(new A2A_ERR_BAD_PARAMS(`${where}: ${description}`), { errors })
}

// A path may have keys of the client's own, so it is cut.
function toField(path: string): string {
  const names = path.slice(1).replaceAll('~1', '/').replaceAll('~0', '~')
  return names.replaceAll('/', '.').slice(0, 200)
}
