import type { PageConfig } from '../../src/serve-page.ts'
import { access, currentToken } from './access.ts'

let config: PageConfig | undefined

/** Reads what the service says about itself; before everything else. */
export async function loadConfig(): Promise<PageConfig> {
  const response = await fetch(new URL('config.json', documentUrl()))
  if (!response.ok) throw new Error(`The console cannot be configured (${response.status}).`)
  config = (await response.json()) as PageConfig
  return config
}

/** The configuration. @throws before it was loaded */
export function configOf(): PageConfig {
  if (config === undefined) throw new Error('the configuration was not loaded')
  return config
}

/** The address of a surface, ending with a slash; undefined if the service does not name it. */
export function surfaceUrl(name: keyof PageConfig['surfaces']): URL | undefined {
  const path = configOf().surfaces[name]
  return path === undefined ? undefined : new URL(path.endsWith('/') ? path : `${path}/`, documentUrl())
}

/** The address of the document without its fragment. */
function documentUrl(): string {
  return location.href.split('#')[0]!.split('?')[0]!
}

/** A field of a request that the service refused. */
export interface Fault {
  readonly path: string
  readonly message: string
}

/** A refusal of the service, or a request that did not reach it (status 0). */
export class ApiError extends Error {
  readonly status: number
  /** Stable; '' if there was no answer. */
  readonly code: string
  readonly requestId: string | undefined
  readonly faults: readonly Fault[]
  /** Seconds after which the service wants to be asked again. */
  readonly retryAfter: number | undefined

  constructor(
    status: number,
    { message, code = '', requestId, errors = [], retryAfter }: Partial<ErrorBody> & { message: string }
  ) {
    super(message)
    this.name = 'ApiError'
    this.status = status
    this.code = code
    this.requestId = requestId
    this.faults = errors
    this.retryAfter = retryAfter
  }

  /** True if the same request may succeed later. */
  get isPassing(): boolean {
    return this.status === 0 || this.status === 408 || this.status === 429 || this.status >= 500
  }
}

interface ErrorBody {
  message: string
  code?: string
  requestId?: string | undefined
  errors?: Fault[]
  retryAfter?: number | undefined
}

const UNREACHABLE = 'The service cannot be reached.'

/** The error of a reply that is no success. */
async function toApiError(response: Response): Promise<ApiError> {
  const body = (await response.json().catch(() => ({}))) as Partial<ErrorBody> | null
  const retryAfter = Number(response.headers.get('retry-after')) || undefined
  const text = typeof body?.message === 'string' ? body.message : ''
  const message = text || fallbackOf(response.status)
  return new ApiError(response.status, { ...body, message, retryAfter })
}

/** The error of a request that has failed before its reply; an abort stays what it is. */
export function toRequestError(err: unknown): unknown {
  if (err instanceof DOMException && err.name === 'AbortError') return err
  return err instanceof TypeError ? new ApiError(0, { message: UNREACHABLE }) : err
}

/** What to show of any error. */
export function describeError(err: unknown): string {
  if (err instanceof ApiError && err.status === 403) return `You may not do this. ${err.message}`
  return err instanceof Error ? err.message : String(err)
}

/** Whether a request was given up by the page itself. */
export const isAbort = (err: unknown): boolean => err instanceof DOMException && err.name === 'AbortError'

function fallbackOf(status: number): string {
  if (status === 404) return 'This does not exist, or it is not yours.'
  return status >= 500 ? `The service has failed (${status}).` : `The service has refused this (${status}).`
}

/** A request to a route of the HTTP surface. */
export interface ApiRequest {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Values that are undefined or empty are left out. */
  query?: Readonly<Record<string, string | number | undefined>>
  /** Sent as JSON, unless it is a form. */
  body?: unknown
  headers?: Readonly<Record<string, string>>
  signal?: AbortSignal | undefined
}

/** Escapes one segment of a path. */
export const segment = (text: string): string => encodeURIComponent(text)

/** The address of a route: `runs/…`, without a leading slash. */
export function urlOf(path: string, query: ApiRequest['query'] = {}): URL {
  const url = new URL(path, surfaceUrl('http'))
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== '') url.searchParams.set(name, String(value))
  return url
}

/** Sends a request with the visitor's token, and returns the reply if it is a success. @throws ApiError */
export async function send(path: string, { method = 'GET', query, body, headers, signal }: ApiRequest = {}) {
  const token = currentToken()
  const isJson = body !== undefined && !(body instanceof FormData)
  const response = await fetch(urlOf(path, query), {
    method,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(isJson && { 'content-type': 'application/json' }),
      ...headers
    },
    ...(body !== undefined && { body: isJson ? JSON.stringify(body) : (body as FormData) }),
    ...(signal !== undefined && { signal }),
    credentials: 'same-origin',
    cache: 'no-store',
    redirect: 'error'
  }).catch((err: unknown) => {
    throw toRequestError(err)
  })
  if (response.status === 401) access.value = 'out'
  if (!response.ok) throw await toApiError(response)
  return response
}

/** Sends a request and reads the JSON of its reply; undefined for an empty one. @throws ApiError */
export async function call<T>(path: string, request?: ApiRequest): Promise<T> {
  const response = await send(path, request)
  try {
    return (response.status === 204 ? undefined : await response.json()) as T
  } catch (err) {
    throw toRequestError(err)
  }
}
