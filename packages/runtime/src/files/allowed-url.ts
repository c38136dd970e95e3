import { Type, type TSchema } from '@sinclair/typebox'
import { millisecondsSchema, RUN_ERR_BAD_INPUT } from '@svc/contract'
import { isPublicHost } from '@svc/registry/engine'
import { RUN_ERR_URL_REFUSED } from '../errors.ts'

/** How URLs of an input are fetched. */
export interface UrlOptions {
  /** Hosts that may have private addresses, with a port if not the default (`files.internal:9000`); default none. */
  allowHosts: readonly string[]
  /** Maximum size of one file; default 20 MiB. */
  maxBytes: number
  /** Milliseconds for one file, including redirects; default 20,000. */
  timeout: number
}

export const UrlOptionsSchema = Type.Object(
  {
    allowHosts: Type.Optional(Type.Array(Type.String({ minLength: 1 }))),
    maxBytes: Type.Optional(Type.Integer({ minimum: 1, description: 'Of one file; default 20 MiB' })),
    timeout: Type.Optional(millisecondsSchema('For one file; default 20,000'))
  } satisfies Record<keyof UrlOptions, TSchema>,
  { additionalProperties: false }
)

export const URL_DEFAULTS: UrlOptions = { allowHosts: [], maxBytes: 20 * 1024 * 1024, timeout: 20_000 }

/** True if the host may have a private address. */
export function isExempt({ host }: URL, { allowHosts }: UrlOptions): boolean {
  return allowHosts.includes(host)
}

/**
 * Parses a URL of an input: http or https only, without credentials, and not a literally private host. The addresses of a
 * name are checked on connect.
 * @throws RUN_ERR_URL_REFUSED, RUN_ERR_BAD_INPUT
 */
export function requireAllowedUrl(text: string, options: UrlOptions): URL {
  const url = URL.parse(text)
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    throw new RUN_ERR_BAD_INPUT('a url is not http or https')
  if (url.username !== '' || url.password !== '') throw new RUN_ERR_URL_REFUSED()
  if (isExempt(url, options)) return url
  if (!isPublicHost(url)) throw new RUN_ERR_URL_REFUSED()
  return url
}
