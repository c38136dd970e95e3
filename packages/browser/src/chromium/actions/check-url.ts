import { RUN_ERR_BROWSER_ACTION_FAILED, RUN_ERR_BROWSER_HOST_REFUSED } from '../../errors.ts'
import type { HostPolicy } from '../../browser.ts'

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 }

/**
 * The URL that a model asks to open, normalized. The egress proxy enforces the policy; this gives the model a clear answer.
 * @throws RUN_ERR_BROWSER_HOST_REFUSED, RUN_ERR_BROWSER_ACTION_FAILED if it is no URL
 */
export function checkUrl(text: string, hosts: HostPolicy): string {
  // The parser drops them silently, so that the URL opened would not be the one that was read.
  if (/\p{Cc}|^\s|\s$/u.test(text)) {
    throw new RUN_ERR_BROWSER_HOST_REFUSED('a URL that has control characters, or spaces around it')
  }
  if (text === 'about:blank') return text
  const url = URL.parse(text)
  if (url === null) {
    throw new RUN_ERR_BROWSER_ACTION_FAILED('that is not a whole URL; it starts with https:// or http://')
  }
  const defaultPort = DEFAULT_PORTS[url.protocol]
  if (defaultPort === undefined) {
    throw new RUN_ERR_BROWSER_HOST_REFUSED(
      `${url.protocol.slice(0, 40)} URLs; only http and https pages are opened`
    )
  }
  if (url.username !== '' || url.password !== '') {
    throw new RUN_ERR_BROWSER_HOST_REFUSED('a URL with a user name or a password in it')
  }
  requireHost(url, hosts)
  return url.href
}

/** @throws RUN_ERR_BROWSER_HOST_REFUSED if the policy does not allow the host and port of an http or https URL */
export function requireHost(url: URL, hosts: HostPolicy): void {
  const port = url.port === '' ? (DEFAULT_PORTS[url.protocol] ?? 0) : Number(url.port)
  if (hosts.allows(url.hostname, port)) return
  throw new RUN_ERR_BROWSER_HOST_REFUSED(`the host ${url.host.slice(0, 100)}`)
}
