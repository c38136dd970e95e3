/** A way in which a page could reach a host. */
export interface Channel {
  /** Unique; also the first label of the host that it tries to reach. */
  readonly name: string
  /**
   * `markup` goes into one page with all others, `script` into that page's script, `frame` is a document in a frame of that page,
   * `document` is a page in a tab of its own.
   */
  readonly kind: 'markup' | 'script' | 'frame' | 'document'
  /** What it reaches: the secret HTTP server, or a socket of its own, of which any connection or packet counts. */
  readonly via?: 'tcp' | 'udp' | undefined
  /** The address of the secret server, or a name that browsers trust without TLS, instead of a public name that leads to it. */
  readonly address?: string | undefined
  /** Headers of its document. */
  headers?(target: Target): Record<string, string>
  /** Redirects with this status instead of answering with a document. */
  readonly redirect?: number | undefined
  make(target: Target): string
}

/** Where a channel is to lead. */
export interface Target {
  readonly url: string
  /** The name of the channel as a label of a domain, or the address. */
  readonly host: string
  readonly port: number
  /** The origin of the page. */
  readonly site: string
}

type Make = (target: Target) => string
type Extra = Partial<Pick<Channel, 'via' | 'address' | 'headers' | 'redirect'>>

const channel =
  (kind: Channel['kind']) =>
  (name: string, make: Make, extra: Extra = {}): Channel => ({ name, kind, make, ...extra })

/** HTML in the page. */
export const markup = channel('markup')
/** The body of an async function in the page; it has settled when what it tried has failed or arrived. */
export const script = channel('script')
/** A document in a frame of the page. */
export const frame = channel('frame')
/** A document in a tab. */
export const tab = channel('document')
