import { A2A_ERR_BAD_ANSWER } from '../../errors.ts'
import { OPERATIONS, splitRoute, type Route } from '../../operations.ts'
import { clientCodecFor } from '../../wire/codec-for.ts'
import { fields } from '../../wire/read-answer.ts'
import { fetchEvents, fetchJson, toRefusal, type HttpRequest } from './http-answer.ts'
import { isUnknownRoute } from './remote-fault.ts'
import type { RemoteCall, RemoteRequest, RemoteStream, RemoteTransport } from './transport.ts'

type Request = RemoteRequest<RemoteCall | RemoteStream>

/** HTTP+JSON: the routes of the operation table, from the client's side. */
export function httpJsonTransport(): RemoteTransport {
  return {
    binding: 'HTTP+JSON',
    form: 'rest',
    async call(request) {
      const [route] = routesOf(request)
      return accept(await fetchJson(request, toHttp(route, request)), request)
    },
    async *stream(request) {
      const routes = routesOf(request)
      for (const [index, route] of routes.entries())
        try {
          for await (const event of fetchEvents(request, toHttp(route, request, 'text/event-stream')))
            yield accept(event, request)
          return
        } catch (err) {
          // The specification's text and its proto disagree on the method.
          if (!isUnknownRoute(err) || index === routes.length - 1) throw err
        }
    }
  }
}

function routesOf({ operation, version }: Request): readonly [Route, ...Route[]] {
  return OPERATIONS[operation].rest[version] as readonly [Route, ...Route[]]
}

// A stream may end with an error.
function accept(answer: unknown, { redact }: Request): unknown {
  const refused = toRefusal(answer, redact)
  if (refused !== undefined) throw refused
  return answer
}

function toHttp(route: Route, { url, version, tenant, params }: Request, type?: string): HttpRequest {
  const mediaType = clientCodecFor(version, 'rest').mediaType ?? 'application/json'
  const [method, path] = splitRoute(route)
  const { id, ...body } = params
  const target = new URL(url)
  const below = path.replace('{id}', () => toSegment(id))
  const prefix = tenant === undefined ? '' : `/${toSegment(tenant)}`
  target.pathname = target.pathname.replace(/\/+$/, '') + prefix + below
  return {
    method,
    url: target.href,
    // An operation on a task is all in its path.
    ...(id === undefined && { body }),
    contentType: mediaType,
    accept: type ?? (mediaType === 'application/json' ? mediaType : `${mediaType}, application/json`)
  }
}

// Dots alone would lead to another path.
function toSegment(name: unknown): string {
  const segment = encodeURIComponent(String(name))
  if (/^\.{0,2}$/.test(segment)) throw new A2A_ERR_BAD_ANSWER('an id or a tenant cannot be in a path')
  return segment
}

/** JSON-RPC 2.0 over HTTP. */
export function jsonRpcTransport(): RemoteTransport {
  let requests = 0
  const toPost = (
    { operation, url, version, params }: RemoteRequest<RemoteCall | RemoteStream>,
    mediaType: string
  ): HttpRequest => ({
    method: 'POST',
    url,
    body: { jsonrpc: '2.0', id: ++requests, method: OPERATIONS[operation].rpc[version], params },
    contentType: 'application/json',
    accept: mediaType
  })
  return {
    binding: 'JSONRPC',
    form: 'rpc',
    async call(request) {
      return resultOf(await fetchJson(request, toPost(request, 'application/json')), request)
    },
    async *stream(request) {
      for await (const answer of fetchEvents(request, toPost(request, 'text/event-stream')))
        yield resultOf(answer, request)
    }
  }
}

function resultOf(answer: unknown, { redact }: Pick<RemoteRequest<RemoteCall>, 'redact'>): unknown {
  const { result, error } = fields(answer)
  if (error === undefined || error === null) return result
  throw toRefusal({ error: fields(error) }, redact)!
}
