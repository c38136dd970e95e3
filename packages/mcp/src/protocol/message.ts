import { Type, type Static } from '@sinclair/typebox'

/** An id of a request, or a token for its progress. */
export const IdSchema = Type.Union([Type.String(), Type.Integer()])
export type RequestId = Static<typeof IdSchema>

/** A message of JSON-RPC, as its schema has it. */
export interface Message {
  readonly jsonrpc: '2.0'
  readonly id?: RequestId
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
  readonly result?: object
  readonly error?: object
}

/** A message that wants a response. */
export type Request = Message & Required<Pick<Message, 'id' | 'method'>>

export function isRequest(message: Message): message is Request {
  return message.method !== undefined && message.id !== undefined
}

export function isNotification({ id, method }: Message): boolean {
  return method !== undefined && id === undefined
}

export function isResponse({ id, method, result, error }: Message): boolean {
  return method === undefined && id !== undefined && (result ?? error) !== undefined
}

/** The response with a result. */
export function toResponse(id: RequestId, result: object): object {
  return { jsonrpc: '2.0', id, result }
}

/** The response with an error; `id` is null where that of the request is not known. */
export function toErrorResponse(
  id: RequestId | null,
  { code, message, data }: { code: number; message: string; data?: unknown }
): object {
  return { jsonrpc: '2.0', id, error: { code, message, ...(data !== undefined && { data }) } }
}

/** The id of a request that could not be read, for its error; null if it has none. */
export function idOf(body: unknown): RequestId | null {
  const { id, method } = (body ?? {}) as { id?: unknown; method?: unknown }
  return typeof method === 'string' && (typeof id === 'string' || typeof id === 'number') ? id : null
}
