import { isPublicHost, RUN_ERR_BAD_INPUT } from '@svc/registry'
import { RUN_ERR_URL_REFUSED } from '../errors.ts'

/** How URLs of an input are treated. */
export interface UrlOptions {
  /** Hosts, with their ports where they have one (`files.internal:9000`), that may be private; default none. */
  allowHosts: readonly string[]
  /** Of one file; default 20 MiB. */
  maxBytes: number
  /** Milliseconds for one file, redirects included; default 20,000. */
  timeout: number
}

/** Whether a host may be private. */
export function isExempt({ host }: URL, { allowHosts }: UrlOptions): boolean {
  return allowHosts.includes(host)
}

/**
 * A URL of an input as it may be fetched or passed on: http or https, no credentials, and no host that can be seen to be
 * private. What a name resolves to is checked when it is connected to.
 * @throws RUN_ERR_URL_REFUSED, RUN_ERR_BAD_INPUT
 */
export function requireAllowedUrl(text: string, options: UrlOptions): URL {
  const url = URL.parse(text)
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    throw new RUN_ERR_BAD_INPUT('a url is not of http or https')
  if (url.username !== '' || url.password !== '') throw new RUN_ERR_URL_REFUSED()
  if (isExempt(url, options)) return url
  if (!isPublicHost(url)) throw new RUN_ERR_URL_REFUSED()
  return url
}
