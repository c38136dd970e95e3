import { access, currentToken } from './access.ts'
import { toApiError, toRequestError } from './api-error.ts'
import { surfaceUrl } from './config.ts'

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
