import { RUN_ERR_BAD_INPUT } from '@svc/contract/errors'
import {
  RUN_ERR_CONTEXT_OVERFLOW,
  RUN_ERR_MODEL_AUTH,
  RUN_ERR_MODEL_FAILED,
  RUN_ERR_MODEL_RATE_LIMITED,
  RUN_ERR_MODEL_REFUSED,
  RUN_ERR_MODEL_UNREACHABLE,
  RUN_ERR_SCRIPT_OVER
} from '../errors.ts'
import { overflowOf, type Overflow } from './overflow.ts'

/**
 * The wait a response requests, in milliseconds, by `retry-after-ms` or `retry-after` (seconds or an HTTP date, RFC 9110
 * section 10.2.3); undefined without either.
 */
export function readRetryAfter(headers: unknown, now = Date.now()): number | undefined {
  const milliseconds = Number.parseFloat(headerOf(headers, 'retry-after-ms') ?? '')
  if (milliseconds >= 0) return milliseconds
  const value = headerOf(headers, 'retry-after')?.trim()
  if (value === undefined || value === '') return undefined
  if (/^\d+(?:\.\d+)?$/.test(value)) return Number(value) * 1000
  const date = Date.parse(value)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

function headerOf(headers: unknown, name: string): string | undefined {
  if (typeof headers !== 'object' || headers === null) return undefined
  if (headers instanceof Headers) return headers.get(name) ?? undefined
  for (const [key, value] of Object.entries(headers)) {
    if (key.toLowerCase() === name && typeof value === 'string') return value
  }
  return undefined
}

/** Why a model call failed. */
export interface ModelFault {
  /** Public; contains no text of the provider. */
  error: Error
  /** True if a retry may succeed. */
  transient: boolean
  /** Set if the prompt is too long for the model. */
  overflow?: Overflow
  /** The provider's requested wait, in milliseconds. */
  retryAfter?: number
  /** Safe for the log. */
  details: FaultDetails
}

/** Facts that cannot contain a key, a header or a part of the request. */
export interface FaultDetails {
  name?: string
  statusCode?: number
  /** The provider package's message about a missing key; names the environment variable. */
  missing?: string
  /** Error types and codes of the provider and the network, if they are plain words. */
  codes?: string[]
  host?: string
  /** The provider's own word for why the model stopped. */
  finishReason?: string
  /** The tokens that the model takes, if the prompt was too long and the provider told it. */
  limit?: number
}

/** The end of an answer that is none, such as Gemini's `MALFORMED_FUNCTION_CALL`: another try may have one. */
export class OddEnd extends Error {
  readonly finishReason: string

  constructor(finishReason: string) {
    super('the model stopped for an odd reason')
    this.finishReason = isWord(finishReason) ? finishReason : 'an unknown reason'
  }
}

const NETWORK = /^(?:ECONN\w+|ETIMEDOUT|EPIPE|ENETUNREACH|EHOSTUNREACH|ENOTFOUND|EAI_AGAIN|UND_ERR_\w+)$/
const NETWORK_TEXT = /^(?:fetch failed|failed to fetch|terminated|network error|socket hang up)$/i
// Matched by name: each provider's package has its own copy of these classes.
const UNSET = /^AI_Load(?:APIKey|Setting)Error$/
const OVERLOADED = /rate_limit|overloaded|server_error|timeout|unavailable/

/** Classifies the error of a model call, or of an `error` part of its stream. */
export function toModelFault(thrown: unknown): ModelFault {
  const chain = causesOf(thrown)
  const statusCode = chain.map((each) => each.statusCode ?? each.status).find(isErrorStatus)
  const retryAfter = readRetryAfter(chain.find((each) => each.responseHeaders !== undefined)?.responseHeaders)
  const codes = chain.flatMap(wordsOf)
  const details = detailsOf(chain, statusCode, codes)
  const fault = (error: Error, transient: boolean): ModelFault => {
    const wait = retryAfter === undefined ? {} : { retryAfter: Math.ceil(retryAfter / 1000) }
    Object.assign(error, { retryable: transient, ...wait })
    return { error, transient, details, ...(retryAfter !== undefined && { retryAfter }) }
  }

  if (thrown instanceof RUN_ERR_SCRIPT_OVER) return fault(thrown, false)
  if (thrown instanceof OddEnd) {
    const error = new RUN_ERR_MODEL_FAILED()
    error.message += `: it stopped with ${thrown.finishReason}`
    details.finishReason = thrown.finishReason
    return fault(error, true)
  }
  const refused = chain.map(refusedFileOf).find((each) => each !== undefined)
  if (refused !== undefined)
    return fault(new RUN_ERR_BAD_INPUT(`input: the model takes no ${refused}`), false)
  if (details.missing !== undefined) {
    const cause = chain.find(isPlainMissing)
    return fault(new RUN_ERR_MODEL_AUTH(cause && { cause }), false)
  }
  if (statusCode === 429) return fault(new RUN_ERR_MODEL_RATE_LIMITED(), true)
  const overflow = overflowOf({ statusCode, codes: chain.flatMap(codesOf), texts: chain.flatMap(textsOf) })
  if (overflow !== undefined) {
    if (overflow.limit !== undefined) details.limit = overflow.limit
    return { ...fault(new RUN_ERR_CONTEXT_OVERFLOW(), false), overflow }
  }
  if (statusCode === 401 || statusCode === 403) return fault(new RUN_ERR_MODEL_AUTH(), false)
  if (statusCode !== undefined) {
    return statusCode >= 500
      ? fault(new RUN_ERR_MODEL_FAILED(), true)
      : fault(new RUN_ERR_MODEL_REFUSED(), false)
  }
  if (chain.some(isNetworkFault)) return fault(new RUN_ERR_MODEL_UNREACHABLE(), true)
  return fault(
    new RUN_ERR_MODEL_FAILED(),
    codes.some((code) => OVERLOADED.test(code))
  )
}

type Loose = Record<string, unknown>

// The error, its causes, and the error object in a provider's response body, or in an event that its package does not know.
function causesOf(thrown: unknown): Loose[] {
  const chain: Loose[] = []
  let current: unknown = thrown
  while (typeof current === 'object' && current !== null && chain.length < 6) {
    const each = current as Loose
    chain.push(each)
    const inner = errorIn(each['data']) ?? errorIn(each['value']) ?? each['error']
    if (typeof inner === 'object' && inner !== null) chain.push(inner as Loose)
    current = each['cause']
  }
  return chain
}

// What a provider's package says that it cannot send: a media type, or the kind of a part.
function refusedFileOf({ name, functionality }: Loose): string | undefined {
  if (name !== 'AI_UnsupportedFunctionalityError' || typeof functionality !== 'string') return undefined
  const type = /\b(?:media|mime) type:? ([\w!#$&^.+-]+\/[\w!#$&^.+-]+)/.exec(functionality)?.[1]
  if (type !== undefined) return `files of the type "${type}"`
  return /\bfiles?\b/i.test(functionality) ? 'file of this kind, or not by its URL' : undefined
}

function errorIn(body: unknown): unknown {
  return (body as { error?: unknown } | null | undefined)?.error
}

function isErrorStatus(value: unknown): value is number {
  return typeof value === 'number' && value >= 400 && value <= 599
}

function isNetworkFault({ isRetryable, code, name, message }: Loose): boolean {
  if (isRetryable === true || (typeof code === 'string' && NETWORK.test(code))) return true
  return name === 'TypeError' && typeof message === 'string' && NETWORK_TEXT.test(message)
}

function wordsOf({ code, type }: Loose): string[] {
  return [code, type].filter(isWord)
}

function codesOf({ code, type }: Loose): string[] {
  return [code, type].filter((each) => typeof each === 'string')
}

// Some providers answer without an error object, and one with the text in its place.
function textsOf({ message, responseBody, error }: Loose): unknown[] {
  return [message, responseBody, error]
}

// Words without digits cannot be a key.
function isWord(text: unknown): text is string {
  return typeof text === 'string' && /^[A-Za-z_.-]{1,48}$/.test(text)
}

// Thrown before anything is sent.
function missingOf(each: Loose): string | undefined {
  const { name, message } = each
  if (typeof name !== 'string' || !UNSET.test(name)) return undefined
  return isPlain(message) ? message : 'a key or a setting of the provider'
}

// A message with long words that contain digits might quote a key.
function isPlain(message: unknown): message is string {
  return typeof message === 'string' && message.length <= 300 && !/(?=\S{16})\S*\d/.test(message)
}

// A cause is logged with its own causes, so it must have none.
function isPlainMissing(each: Loose): boolean {
  return missingOf(each) !== undefined && isPlain(each['message']) && each['cause'] === undefined
}

function detailsOf(chain: Loose[], statusCode: number | undefined, codes: string[]): FaultDetails {
  const name = chain.find((each) => typeof each['name'] === 'string')?.['name'] as string | undefined
  const url = chain.find((each) => typeof each['url'] === 'string')?.['url'] as string | undefined
  const missing = chain.map(missingOf).find((said) => said !== undefined)
  return {
    ...(missing !== undefined && { missing }),
    ...(name !== undefined && /^\w{1,64}$/.test(name) && { name }),
    ...(statusCode !== undefined && { statusCode }),
    ...(codes.length > 0 && { codes }),
    ...(url !== undefined && URL.canParse(url) && { host: new URL(url).host })
  }
}
