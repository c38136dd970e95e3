import { createRedact } from '@svc/registry'
import type { RemoteAgentOptions } from '../remote-options.ts'

/** Those that were shown last are known: a token may be another one each time. */
const MAX_SHOWN = 32

/** The headers with which a service is asked. What it says of them in an error is for nobody else. */
export class Credentials {
  readonly #options: Pick<RemoteAgentOptions, 'headers' | 'token'>
  readonly #shown = new Set<string>()

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

  /** A text of the service without what it was shown. */
  hide(text: string): string {
    const secrets = [...this.#shown].flatMap((value) => [value, ...value.split(/\s+/)])
    return createRedact(secrets)?.(text) ?? text
  }

  #remember(value: string): void {
    this.#shown.delete(value)
    this.#shown.add(value)
    if (this.#shown.size > MAX_SHOWN) this.#shown.delete(this.#shown.values().next().value!)
  }
}
