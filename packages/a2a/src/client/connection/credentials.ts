import { createRedact } from '@svc/surface'
import { dropOldest } from '@svc/contract'
import type { RemoteAgentOptions } from '../remote-options.ts'

/** The last values sent: a token may change with every request. */
const MAX_SENT = 32

/** The headers of requests. Redacts their values from the service's errors. */
export class Credentials {
  readonly #options: Pick<RemoteAgentOptions, 'headers' | 'token'>
  readonly #sent = new Set<string>()

  constructor(options: Pick<RemoteAgentOptions, 'headers' | 'token'>) {
    this.#options = options
  }

  async headers(): Promise<Record<string, string>> {
    const { headers, token } = this.#options
    const given = typeof headers === 'function' ? await headers() : headers
    const bearer = typeof token === 'function' ? await token() : token
    const all = { ...given, ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }) }
    for (const value of Object.values(all)) this.#remember(value)
    return all
  }

  /** Redacts the values sent so far from a text of the service. */
  redact(text: string): string {
    const secrets = [...this.#sent].flatMap((value) => [value, ...value.split(/\s+/)])
    return createRedact(secrets)?.(text) ?? text
  }

  #remember(value: string): void {
    this.#sent.delete(value)
    this.#sent.add(value)
    dropOldest(this.#sent, MAX_SENT)
  }
}
