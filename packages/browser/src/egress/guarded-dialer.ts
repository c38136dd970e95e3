import { STATUS_CODES } from 'node:http'
import { Socket, type LookupFunction } from 'node:net'
import { createPublicLookup, isPublicHost } from '@svc/registry/engine'
import type { HostPolicy, Refusal } from '../browser.ts'
import { RUN_ERR_BROWSER_TOO_LARGE } from '../errors.ts'

/** The policy refused a connection. */
export class Refused extends Error {
  readonly reason: Refusal['reason']
  /** @param reason default `address`: a look-up that finds a private address creates it without arguments */
  constructor(reason: Refusal['reason'] = 'address') {
    super(TEXTS[reason])
    this.reason = reason
  }
}

/** A host did not accept a connection in time. */
class DialTimeout extends Error {}

const TEXTS: Record<Refusal['reason'], string> = {
  host: 'This host is not allowed.',
  port: 'This port is not allowed.',
  address: 'This host is not on the public internet.',
  bytes: 'The pages have transferred too many bytes.',
  connections: 'Too many connections are open.',
  malformed: 'The request is malformed.'
}

/** What a client of the proxy gets instead of a response. */
export interface FailureAnswer {
  readonly status: number
  readonly phrase: string
  readonly text: string
}

/** The answer for a connection that was refused or failed. */
export function toAnswer(err: unknown): FailureAnswer {
  const [status, text] = describe(err)
  return { status, phrase: STATUS_CODES[status] ?? '', text: `${text}\n` }
}

function describe(err: unknown): [status: number, text: string] {
  if (err instanceof Refused) return [err.reason === 'malformed' ? 400 : 403, err.message]
  if (err instanceof DialTimeout) return [504, 'The host did not answer in time.']
  const { code } = err as NodeJS.ErrnoException
  return [502, `No connection to the host${typeof code === 'string' ? `: ${code}` : ''}.`]
}

type Written = (err?: Error | null) => void

/** A socket that reports its bytes as they pass, in both directions. */
class MeteredSocket extends Socket {
  readonly #count: (bytes: number) => void

  /** @param count called with the bytes of each chunk; may destroy the socket */
  constructor(count: (bytes: number) => void) {
    super({ allowHalfOpen: true })
    this.#count = count
  }

  override push(chunk: Buffer | null, encoding?: BufferEncoding): boolean {
    if (chunk !== null) this.#count(chunk.length)
    return super.push(chunk, encoding)
  }

  // Not `write`: `connect` replaces it.
  override _write(chunk: Buffer | string, encoding: BufferEncoding, done: Written): void {
    this.#count(sizeOf(chunk, encoding))
    // oxlint-disable-next-line no-underscore-dangle -- the methods that streams are implemented with
    super._write(chunk, encoding, done)
  }

  override _writev(chunks: { chunk: Buffer | string; encoding: BufferEncoding }[], done: Written): void {
    this.#count(chunks.reduce((sum, { chunk, encoding }) => sum + sizeOf(chunk, encoding), 0))
    // oxlint-disable-next-line no-underscore-dangle -- as above
    super._writev!(chunks, done)
  }
}

function sizeOf(chunk: Buffer | string, encoding: BufferEncoding): number {
  return typeof chunk === 'string' ? Buffer.byteLength(chunk, encoding) : chunk.length
}

/** What connections of a desk are checked against. */
export interface DialerOptions {
  readonly hosts: HostPolicy
  /** Of all connections, in both directions, headers and TLS included. */
  readonly maxBytes: number
  /** Resolves names; default: the system's resolver. */
  readonly lookup?: LookupFunction | undefined
  /** Reports each connection that was refused; a limit of bytes is reported when it is crossed, too. */
  onBlocked?(refusal: Refusal): void
}

const MAX_CONNECTIONS = 256
const CONNECT_TIMEOUT = 20_000

/**
 * Opens the outgoing connections of a desk, each checked by name and by the very address that it connects to, and ends them all when
 * they exceed their bytes.
 */
export class GuardedDialer {
  readonly #options: DialerOptions
  readonly #lookup: LookupFunction
  readonly #open = new Set<Socket>()
  #bytes = 0
  #isClosed = false

  constructor(options: DialerOptions) {
    this.#options = options
    this.#lookup = createPublicLookup(Refused, options.lookup)
  }

  /** Bytes of all connections, in both directions. */
  get bytes(): number {
    return this.#bytes
  }

  /** Set once the connections have exceeded their bytes. */
  get error(): Error | undefined {
    const { maxBytes } = this.#options
    if (this.#bytes <= maxBytes) return undefined
    return new RUN_ERR_BROWSER_TOO_LARGE(`the pages transferred more than ${maxBytes}`)
  }

  /**
   * Connects. The caller listens for errors of the socket from then on.
   * @param hostname as `normalizeHost` returns it
   * @throws Refused, DialTimeout, an error of the system
   */
  async connect(hostname: string, port: number): Promise<Socket> {
    try {
      const reason = this.#refuse(hostname, port)
      if (reason !== undefined) throw new Refused(reason)
      return await this.#dial(hostname, port)
    } catch (err) {
      if (err instanceof Refused) this.#report(hostname, port, err.reason)
      throw err
    }
  }

  /** Reports a request that names no target, and returns the error for it. */
  refuseMalformed(target: string | undefined): Refused {
    this.#options.onBlocked?.({ host: URL.parse(target ?? '')?.host || 'unknown', reason: 'malformed' })
    return new Refused('malformed')
  }

  /** Ends all connections, and those being opened. */
  close(): void {
    this.#isClosed = true
    for (const socket of this.#open) socket.destroy(new Error('The desk was closed'))
  }

  #refuse(hostname: string, port: number): Refusal['reason'] | undefined {
    const { hosts, maxBytes } = this.#options
    if (this.#bytes > maxBytes) return 'bytes'
    if (!hosts.mayBePrivate(hostname, port)) {
      // Addresses are never looked up, so what follows does not check them.
      if (!isPublicHost({ hostname })) return 'address'
      if (!hosts.allows(hostname, port))
        return hosts.allows(hostname, 443) || hosts.allows(hostname, 80) ? 'port' : 'host'
    }
    return this.#isClosed || this.#open.size >= MAX_CONNECTIONS ? 'connections' : undefined
  }

  #dial(hostname: string, port: number): Promise<Socket> {
    const { promise, resolve, reject } = Promise.withResolvers<Socket>()
    const socket = new MeteredSocket((bytes) => this.#count(bytes, hostname, port))
    this.#open.add(socket)
    socket.once('close', () => {
      this.#open.delete(socket)
      reject(new Error('The connection was closed'))
    })
    socket.on('error', reject)
    socket.setTimeout(CONNECT_TIMEOUT, () => socket.destroy(new DialTimeout()))
    const { hosts, lookup } = this.#options
    socket.connect(
      {
        host: hostname.replace(/^\[(.*)\]$/, '$1'),
        port,
        ...(hosts.mayBePrivate(hostname, port) ? lookup && { lookup } : { lookup: this.#lookup })
      },
      () => {
        socket.setTimeout(0)
        resolve(socket)
      }
    )
    return promise
  }

  #report(hostname: string, port: number, reason: Refusal['reason']): void {
    const host = port === 80 || port === 443 ? hostname : `${hostname}:${port}`
    this.#options.onBlocked?.({ host, reason })
  }

  #count(bytes: number, hostname: string, port: number): void {
    const { maxBytes } = this.#options
    const wasWithin = this.#bytes <= maxBytes
    this.#bytes += bytes
    if (!wasWithin || this.#bytes <= maxBytes) return
    this.#report(hostname, port, 'bytes')
    for (const socket of this.#open) socket.destroy(new Refused('bytes'))
  }
}
