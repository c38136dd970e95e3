import { OPERATIONS } from '../../operations.ts'
import { fields } from '../../wire/read-answer.ts'
import { fetchEvents, fetchJson, toRefusal, type HttpRequest } from './http-answer.ts'
import type { RemoteCall, RemoteRequest, RemoteStream, RemoteTransport } from './transport.ts'

/** JSON-RPC 2.0 over HTTP. */
export function jsonRpcTransport(): RemoteTransport {
  let requests = 0
  const toHttp = (
    { operation, url, version, params }: RemoteRequest<RemoteCall | RemoteStream>,
    accept: string
  ): HttpRequest => ({
    method: 'POST',
    url,
    body: { jsonrpc: '2.0', id: ++requests, method: OPERATIONS[operation].rpc[version], params },
    contentType: 'application/json',
    accept
  })
  return {
    binding: 'JSONRPC',
    form: 'rpc',
    async call(request) {
      return resultOf(await fetchJson(request, toHttp(request, 'application/json')), request)
    },
    async *stream(request) {
      for await (const answer of fetchEvents(request, toHttp(request, 'text/event-stream')))
        yield resultOf(answer, request)
    }
  }
}

function resultOf(answer: unknown, { redact }: Pick<RemoteRequest<RemoteCall>, 'redact'>): unknown {
  const { result, error } = fields(answer)
  if (error === undefined || error === null) return result
  throw toRefusal({ error: fields(error) }, redact)!
}
