import { A2A_ERR_BAD_REQUEST } from '../errors.ts'

/** Characters of a request's id. */
const MAX_ID = 1024

/** A request of JSON-RPC 2.0. */
export interface RpcCall {
  /** As JSON; undefined for a notification. */
  id: string | undefined
  method: string
  params: unknown
}

/** @throws A2A_ERR_BAD_REQUEST */
export function readCall(body: unknown): RpcCall {
  if (Array.isArray(body)) throw new A2A_ERR_BAD_REQUEST('batches are not supported')
  if (typeof body !== 'object' || body === null) throw new A2A_ERR_BAD_REQUEST('the body must be an object')
  const { jsonrpc, id, method, params = {} } = body as Record<string, unknown>
  if (id !== undefined && id !== null && !isId(id))
    throw new A2A_ERR_BAD_REQUEST(`id must be a number, a string of up to ${MAX_ID} characters, or null`)
  const json = id === undefined ? undefined : JSON.stringify(id)
  if (jsonrpc !== '2.0') throw withId(json, new A2A_ERR_BAD_REQUEST('jsonrpc must be "2.0"'))
  if (typeof method !== 'string') throw withId(json, new A2A_ERR_BAD_REQUEST('method must be a string'))
  // Without an id, only a well-formed request is a notification.
  if (json === undefined && typeof params !== 'object')
    throw new A2A_ERR_BAD_REQUEST('params must be an object')
  return { id: json, method, params: params ?? {} }
}

// Every event of a stream repeats it; an infinite number would come back as null.
function isId(id: unknown): boolean {
  return typeof id === 'string' ? id.length <= MAX_ID : Number.isFinite(id)
}

/** The id of a refused request, as JSON. */
export function idOf(err: unknown): string | undefined {
  return (err as { id?: string } | undefined)?.id
}

function withId(id: string | undefined, err: Error): Error {
  return Object.assign(err, { id })
}
