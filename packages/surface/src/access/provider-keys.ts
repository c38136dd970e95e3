import type { IncomingHttpHeaders } from 'node:http'
import { ProviderKey, type RunLog } from '@svc/contract'
import type { StartOptions } from '@svc/registry'
import { createRedact, redactLog } from '@svc/registry/engine'

/** Maps headers to the providers whose keys they hold; `x-api-key` is for every provider. */
export const DEFAULT_PROVIDER_KEY_HEADERS: Readonly<Record<string, string>> = Object.freeze({
  'x-openai-api-key': 'openai',
  'x-anthropic-api-key': 'anthropic',
  'x-google-api-key': 'google',
  'x-vendora-api-key': 'openai',
  'x-vendorb-api-key': 'anthropic',
  'x-vendorc-api-key': 'google'
})

/** A caller's keys for model providers, from a request. */
export class ProviderKeys {
  readonly #fromBody: ProviderKey | undefined
  readonly #fromHeaders: ReadonlyMap<string, ProviderKey>
  readonly #generic: ProviderKey | undefined

  constructor(
    headers: IncomingHttpHeaders,
    bodyKey: string | undefined,
    known: Readonly<Record<string, string>>
  ) {
    this.#fromBody = toSecret(bodyKey)
    this.#generic = toSecret(headers['x-api-key'])
    this.#fromHeaders = readKeys(headers, known)
  }

  /** The caller's key for a provider: from the body, else from the provider's own header, else from `x-api-key`. */
  find(provider?: string): ProviderKey | undefined {
    const own = provider === undefined ? undefined : this.#fromHeaders.get(vendorOf(provider))
    return this.#fromBody ?? own ?? this.#generic
  }

  /** The start options that let a run use the keys without revealing them, in its log or elsewhere. */
  forRun(log: RunLog): Pick<StartOptions, 'apiKey' | 'log' | 'redact'> {
    if (this.#fromBody === undefined && this.#generic === undefined && this.#fromHeaders.size === 0)
      return { log }
    const secrets = [this.#fromBody, ...this.#fromHeaders.values(), this.#generic]
    const keys = secrets.flatMap((secret) => secret?.reveal() ?? [])
    return {
      apiKey: (provider) => this.find(provider),
      log: redactLog(log, keys),
      redact: createRedact(keys)
    }
  }
}

const NO_KEYS: ReadonlyMap<string, ProviderKey> = new Map()

function readKeys(headers: IncomingHttpHeaders, known: Readonly<Record<string, string>>) {
  let keys: Map<string, ProviderKey> | undefined
  for (const header in known) {
    const key = toSecret(headers[header])
    if (key === undefined) continue
    const vendor = vendorOf(known[header]!)
    if (keys?.has(vendor)) continue
    keys ??= new Map()
    keys.set(vendor, key)
  }
  return keys ?? NO_KEYS
}

// Node.js joins repeated headers; a joined value is not a key.
function toSecret(key: string | string[] | undefined): ProviderKey | undefined {
  return typeof key === 'string' && key !== '' ? new ProviderKey(key) : undefined
}

// `openai.responses` and `google.generative-ai` are names of the AI SDK.
function vendorOf(provider: string): string {
  return provider.split('.', 1)[0]!
}
