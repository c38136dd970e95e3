import { formatFaults, toFaults, type AjvError, type Fault } from '@svc/contract'
import { HTTP_ERR_VALIDATION } from '../errors.ts'

/** The most faults that a reply lists. */
const MAX_FAULTS = 20

/**
 * The faults that Ajv found in a part of a request (`body`, `querystring`, …); undefined if the list is not Ajv's, since a host
 * may have another validator.
 */
export function toFieldErrors(found: unknown, part: string): Fault[] | undefined {
  if (!isFromAjv(found)) return undefined
  return toFaults(found, part === 'querystring' ? 'query' : part, MAX_FAULTS)
}

function isFromAjv(found: unknown): found is readonly AjvError[] {
  return (
    Array.isArray(found) &&
    found.length > 0 &&
    (found as Partial<AjvError>[]).every(
      (each) =>
        typeof each?.instancePath === 'string' && typeof each.params === 'object' && each.params !== null
    )
  )
}

/** The error of a request that does not fit; its text has the first fault, its `errors` all. */
export function validationError(errors: readonly Fault[]): Error {
  return Object.assign(new HTTP_ERR_VALIDATION(formatFaults(errors.slice(0, 1))), { errors })
}
