import type { Target } from '../browser.ts'
import { RUN_ERR_BAD_BROWSER, RUN_ERR_BROWSER_HOST_REFUSED } from '../errors.ts'

// Shorter pieces would match ordinary words.
const MIN_BASE64 = 8

/** The encodings in which a value may come back from a page: in URLs, forms, HTML, JSON, base64 and hexadecimal digits. */
export function formsOf(value: string): string[] {
  const inUrl = encodeURIComponent(value)
  const inForm = new URLSearchParams([['', value]]).toString().slice(1)
  const bytes = Buffer.from(value)
  const forms = [
    value,
    inUrl,
    inForm,
    encodeURI(value),
    JSON.stringify(value).slice(1, -1),
    toHtml(value),
    ...toBase64Forms(bytes),
    bytes.length >= 4 ? bytes.toString('hex') : value
  ]
  return [...new Set(forms)]
}

/** A pattern for these texts in names of files, where any character but letters and digits may be replaced; undefined for none. */
function toNamePattern(texts: readonly string[]): RegExp | undefined {
  const named = texts.filter((text) => /[\p{L}\p{N}]{3}/u.test(text))
  if (named.length === 0) return undefined
  return new RegExp(named.map((text) => text.replaceAll(/[^\p{L}\p{N}]/gu, '.?')).join('|'), 'gsu')
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

function toHtml(value: string): string {
  return value.replaceAll(/[&<>"]/g, (character) => ENTITIES[character]!)
}

// Where a value begins in a longer text decides its base64: each of the three ways, without the digits that its neighbors share.
function toBase64Forms(bytes: Buffer): string[] {
  const forms = [0, 1, 2].map((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .replaceAll('=', '')
    const isShared = (offset + bytes.length) % 3 !== 0
    return text.slice([0, 2, 3][offset], isShared ? -1 : undefined)
  })
  return forms
    .flatMap((form) => [form, form.replaceAll('+', '-').replaceAll('/', '_')])
    .filter(({ length }) => length >= MIN_BASE64)
}

/** What stands for a secret in everything that leaves the browser. */
const HIDDEN = '[secret]'

// Shorter beginnings would match ordinary words.
const MIN_BEGINNING = 4
/** Ends a text that was cut. */
const CUT = '…'

/**
 * Hides these texts wherever they occur in another, in upper or lower case, and where a cut has left their beginning only; undefined
 * for none. Takes time in proportion to the text.
 */
function createHiding(forms: readonly string[]): ((text: string) => string) | undefined {
  if (forms.length === 0) return undefined
  const sorted = [...new Set(forms)].sort((a, b) => b.length - a.length)
  const pattern = new RegExp(
    sorted.map((form) => form.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`)).join('|'),
    'gi'
  )
  const lower = sorted.map((form) => form.toLowerCase())
  return (text) => hideBeginnings(text.replaceAll(pattern, HIDDEN), lower)
}

// What cuts a text does not know where a secret stands in it.
function hideBeginnings(text: string, forms: readonly string[]): string {
  if (!text.includes(CUT)) return text
  const pieces = text.split(CUT)
  const last = pieces.length - 1
  return pieces
    .map((piece, index) => {
      const length = index === last ? 0 : beginningAt(piece, forms)
      return length === 0 ? piece : piece.slice(0, -length) + HIDDEN
    })
    .join(CUT)
}

/** The length of the longest beginning of a form with which a text ends; 0 for none. */
function beginningAt(text: string, forms: readonly string[]): number {
  for (const form of forms) {
    const end = text.slice(-form.length).toLowerCase()
    for (let length = Math.min(form.length, end.length); length >= MIN_BEGINNING; length--)
      if (end.endsWith(form.slice(0, length))) return length
  }
  return 0
}

/** A value that the model can type without seeing it. */
export interface BrowserSecret {
  readonly value: string
  /** The only hosts whose pages may get it, as `shop.example`, `shop.example:8443` or `*.shop.example`. */
  readonly hosts: readonly string[]
}

const NAME = /^\w{1,64}$/
const HOST = /^(\*\.)?(\[[\da-f:]+\]|[^\s:/?#@*[\]]+)(:\d{1,5})?$/
// Of files.
const ENCODINGS = ['utf8', 'latin1', 'utf16le'] as const
const PLACEHOLDER = /\{\{\s*(\w+)\s*\}\}/g

/** The secrets of an agent: fills them in on their own hosts, and removes them from all that comes back. */
export class Secrets {
  readonly #secrets: ReadonlyMap<string, BrowserSecret>
  /** Hides the values of secrets in a text; undefined without secrets. */
  readonly #hiding: ((text: string) => string) | undefined
  readonly #namePattern: RegExp | undefined

  /** @throws RUN_ERR_BAD_BROWSER */
  constructor(secrets: Readonly<Record<string, BrowserSecret>> = {}) {
    for (const [name, { hosts }] of Object.entries(secrets)) {
      if (!NAME.test(name))
        throw new RUN_ERR_BAD_BROWSER(`secrets/${name}: a name has letters, digits and "_" only`)
      for (const [index, host] of hosts.entries())
        if (!HOST.test(host))
          throw new RUN_ERR_BAD_BROWSER(
            `secrets/${name}/hosts/${index}: expected a host such as "shop.example"`
          )
    }
    this.#secrets = new Map(Object.entries(secrets))
    const values = Object.values(secrets).map(({ value }) => value)
    this.#hiding = createHiding(values.flatMap(formsOf))
    this.#namePattern = toNamePattern(values)
  }

  get isEmpty(): boolean {
    return this.#secrets.size === 0
  }

  /** Names and hosts, for the model. */
  describe(): string[] {
    return [...this.#secrets].map(([name, { hosts }]) => `{{${name}}} on ${hosts.join(', ')}`)
  }

  /** True if a text has the placeholder of a secret. */
  isNamedIn(text: string): boolean {
    return [...text.matchAll(PLACEHOLDER)].some(([, name]) => this.#secrets.has(name!))
  }

  /** Fills in the secrets that a text names. @throws RUN_ERR_BROWSER_HOST_REFUSED unless the element and its form are theirs */
  fill(text: string, target: Target): string {
    return text.replaceAll(PLACEHOLDER, (placeholder, name: string) => {
      const secret = this.#secrets.get(name)
      if (secret === undefined) return placeholder
      for (const url of [target.frameUrl, target.form?.action]) {
        if (url !== undefined && !isAt(secret.hosts, url))
          throw new RUN_ERR_BROWSER_HOST_REFUSED(`{{${name}}} may not be sent to ${hostOf(url)}`)
      }
      return secret.value
    })
  }

  /** Removes the values of secrets from a text, however they are encoded in it. Takes time in proportion to the text. */
  redact(text: string): string {
    const hiding = this.#hiding
    if (hiding === undefined) return text
    const plain = hiding(text)
    // Characters that need no escape may be escaped all the same.
    if (!plain.includes('%') || hideEscaped(plain, hiding) === plain) return plain
    const words = plain.replaceAll(/\S+/g, (word) => hideEscaped(word, hiding))
    return words.replaceAll(/.+/g, (line) => hideEscaped(line, hiding))
  }

  /** `redact` for names of files and texts that quote them: browsers replace characters in names. */
  redactName(text: string): string {
    const plain = this.redact(text)
    return this.#namePattern === undefined ? plain : plain.replaceAll(this.#namePattern, HIDDEN)
  }

  /** True if a text or a file has the value of a secret. */
  isIn(content: string | Uint8Array): boolean {
    if (typeof content === 'string') return this.redact(content) !== content
    return ENCODINGS.some((encoding) => this.isIn(Buffer.from(content).toString(encoding)))
  }

  /** A copy of the arguments of a call in which `[secret]` stands for each placeholder and each value. */
  hide(args: unknown): unknown {
    if (typeof args === 'string')
      return this.redact(args).replaceAll(PLACEHOLDER, (placeholder, name: string) =>
        this.#secrets.has(name) ? HIDDEN : placeholder
      )
    if (typeof args !== 'object' || args === null) return args
    if (Array.isArray(args)) return args.map((each) => this.hide(each))
    return Object.fromEntries(Object.entries(args).map(([key, each]) => [key, this.hide(each)]))
  }
}

function isAt(hosts: readonly string[], url: string): boolean {
  const { host, protocol } = URL.parse(url) ?? { host: '', protocol: '' }
  if (protocol !== 'https:' && protocol !== 'http:') return false
  return hosts.some((each) => {
    const allowed = each.toLowerCase()
    return allowed.startsWith('*.') ? host.endsWith(allowed.slice(1)) : host === allowed
  })
}

function hostOf(url: string): string {
  return URL.parse(url)?.host || 'a page without a host'
}

function hideEscaped(text: string, hiding: (text: string) => string): string {
  if (!text.includes('%')) return text
  const decoded = decode(text)
  const hidden = hiding(decoded)
  // A line break from an address would begin a line of its own.
  return hidden === decoded ? text : hidden.replaceAll(/\p{Cc}/gu, ' ')
}

function decode(text: string): string {
  return text.replaceAll(/(?:%[\da-f]{2})+/gi, (bytes) =>
    Buffer.from(bytes.replaceAll('%', ''), 'hex').toString()
  )
}
