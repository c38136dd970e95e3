import { Type } from '@sinclair/typebox'
import { optionsSchema, requireOptions } from '@svc/contract'
import { GTW_ERR_BAD_OPTION } from '../errors.ts'

/** Options of the AsyncAPI document. */
export interface AsyncApiOptions {
  /** Title of the API; default `Event gateway`. */
  title?: string
  /** Version of the API; default `1.0.0`. */
  version?: string
  /** Markdown. */
  description?: string
  /** Path of the document; default `/docs/asyncapi.json`. */
  path?: string
}

export const AsyncApiOptionsSchema = optionsSchema<AsyncApiOptions>({
  title: Type.String(),
  version: Type.String(),
  description: Type.String(),
  path: Type.String({ pattern: '^/' })
})

const DEFAULTS = Object.freeze({ title: 'Event gateway', version: '1.0.0', path: '/docs/asyncapi.json' })

/** Options with their defaults. */
export interface ResolvedAsyncApi {
  title: string
  version: string
  description: string | undefined
  path: string
}

/** Validates the options and fills in the defaults; undefined if disabled. @throws GTW_ERR_BAD_OPTION */
export function resolveAsyncApi(given: boolean | AsyncApiOptions = false): ResolvedAsyncApi | undefined {
  if (given === false) return undefined
  const options = given === true ? {} : given
  requireOptions(AsyncApiOptionsSchema, options, GTW_ERR_BAD_OPTION)
  const { title = DEFAULTS.title, version = DEFAULTS.version, description, path = DEFAULTS.path } = options
  return { title, version, description, path }
}
