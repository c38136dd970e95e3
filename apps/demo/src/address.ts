/** Where clients reach a service that listens on a host: an address that means "every one" is no address to call. */
export function addressOf(host: string, port: number): string {
  if (host === '0.0.0.0' || host === '::') return `localhost:${port}`
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}
