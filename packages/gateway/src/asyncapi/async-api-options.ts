import { Type, type Static } from '@sinclair/typebox'
import { requireOptions } from '@svc/registry/kit'
import { GTW_ERR_BAD_OPTION } from '../errors.ts'

/** Options of the AsyncAPI document. */
export const AsyncApiOptionsSchema = Type.Object(
  {
    title: Type.Optional(Type.String({ description: 'Default `Event gateway`' })),
    version: Type.Optional(Type.String({ description: 'Version of the API; default `1.0.0`' })),
    description: Type.Optional(Type.String({ description: 'Markdown' })),
    path: Type.Optional(
      Type.String({ pattern: '^/', description: 'Path of the document; default `/docs/asyncapi.json`' })
    )
  },
  { additionalProperties: false }
)
export type AsyncApiOptions = Static<typeof AsyncApiOptionsSchema>

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
  return {
    title: options.title ?? 'Event gateway',
    version: options.version ?? '1.0.0',
    description: options.description,
    path: options.path ?? '/docs/asyncapi.json'
  }
}
