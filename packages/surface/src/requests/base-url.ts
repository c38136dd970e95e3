/** The parts of a request that the URLs in its reply depend on; a `FastifyRequest` has them. */
export interface AddressedRequest {
  readonly protocol: string
  readonly host: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** The addresses of the trusted proxies and of the client; only with `trustProxy`. */
  readonly ips?: readonly string[] | undefined
}

/** Where a surface is. */
export interface SurfacePlace {
  /** The URL of the prefix as clients reach it, if the app knows it. */
  readonly url?: string | undefined
  /** The prefix in the app, without a slash at its end. */
  readonly prefix: string
}

// Segments of a path: nothing that a browser takes for a host.
const PREFIX = /^(?:\/[\w.~!$&'()*+;=:@%-]+)+$/

/** The URL of a surface as the client of a request reaches it, without a slash at its end. */
export function baseUrlOf({ url, prefix }: SurfacePlace, request: AddressedRequest): string {
  return url ?? originOf(request) + prefix
}

/** The same for links that stay on the host of the request: a path, unless the app knows the URL. */
export function basePathOf({ url, prefix }: SurfacePlace, request: AddressedRequest): string {
  return url ?? strippedPrefix(request) + prefix
}

/** The URL of the root of the app as the client of a request reaches it, without a slash at its end. */
export function originOf(request: AddressedRequest): string {
  return `${request.protocol}://${request.host}${strippedPrefix(request)}`
}

// What proxies have taken off the path, the outermost first. Only a proxy that the app trusts is believed.
function strippedPrefix({ headers, ips = [] }: AddressedRequest): string {
  const given = headers['x-forwarded-prefix']
  if (given === undefined || ips.length < 2) return ''
  const prefixes = String(given)
    .split(',')
    .map((each) => each.trim().replace(/\/+$/, ''))
  return prefixes.every((each) => each === '' || PREFIX.test(each)) ? prefixes.join('') : ''
}
