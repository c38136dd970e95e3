import type { Static, TObject } from '@sinclair/typebox'
import { checkOf, findFaults } from '@svc/contract'
import { A2A_ERR_BAD_PARAMS } from '../errors.ts'
import { toField, type Violation } from './to-fault.ts'

/** The check of parameters by their schema. */
export function decodeParams<T extends TObject>(schema: T): (params: unknown) => Static<T> {
  const fits = checkOf(schema)
  return (params) => {
    if (fits(params)) return params
    const [fault] = findFaults(schema, params, { limit: 1 })
    throw badParams(toField(fault!.path), fault!.message)
  }
}

/** The error of an invalid field. */
export function badParams(field: string, description: string): Error {
  const errors: Violation[] = [{ field, description }]
  const where = field === '' ? 'params' : field
  return Object.assign(new A2A_ERR_BAD_PARAMS(`${where}: ${description}`), { errors })
}
