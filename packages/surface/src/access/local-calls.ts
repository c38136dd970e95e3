const LOOPBACK = /^(?:::1|(?:::ffff:)?127\.)/
const LOCAL_NAME = /^(?:localhost|(?:[^.]+\.)*localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/** The parts of a request that show whether a page of another site has sent it to a service on this machine. */
export interface LocalCall {
  /** The host and port that the client requested. */
  readonly host: string | undefined
  readonly origin: string | undefined
  /** The address at which the connection arrived. */
  readonly localAddress: string | undefined
}

/** True if a connection arrived at an address that only programs on this machine reach. */
export function isLoopback(localAddress: string | undefined): boolean {
  return LOOPBACK.test(localAddress ?? '')
}

/** True for names that lead to this machine without DNS. */
export function isLocalName(hostname: string): boolean {
  return LOCAL_NAME.test(hostname)
}

/**
 * True if a request that arrived on loopback is of a page that has no business there: its host is a name of the page's own, which DNS leads
 * to this machine (DNS rebinding), or its origin is another site. Browsers on this machine would else be a way around the loopback address
 * for any page that they show.
 * @param hosts further names of the service, and of pages that may call it
 */
export function isStrayCall(
  { host = '', origin, localAddress }: LocalCall,
  hosts: readonly string[]
): boolean {
  if (!isLoopback(localAddress)) return false
  const isKnown = (url: string) => {
    const hostname = URL.parse(url)?.hostname ?? ''
    return isLocalName(hostname) || hosts.includes(hostname)
  }
  // Browsers send a host with every request.
  return (host !== '' && !isKnown(`http://${host}`)) || (origin !== undefined && !isKnown(origin))
}
