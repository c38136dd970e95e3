import type { OperationName } from '../../src/model/requests.ts'
import { OPERATIONS } from '../../src/operations.ts'
import { eventsOf, type TestApp } from './build-app.ts'

export const BINDINGS = ['rpc', 'rest'] as const
export type BindingName = (typeof BINDINGS)[number]

/** An error of 1.0, the same on both bindings. */
export interface Refusal {
  /** The code of JSON-RPC, or the HTTP status. */
  code: number
  /** The name of a gRPC status; on HTTP+JSON only. */
  status?: string
  message: string
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into it by `match`
  details: any[]
  /** The protocol's name of the error. */
  reason: string | undefined
  /** The invalid fields. */
  fields: string[]
}

/** What a client of 1.0 gets. */
export interface Answer {
  status: number
  headers: Headers
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into it by `match`
  result?: any
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into it by `match`
  events?: any[]
  error?: Refusal
}

/** Sends a request of 1.0 over a binding. */
export async function ask(
  app: Pick<TestApp, 'url'>,
  binding: BindingName,
  name: OperationName,
  params: object = {},
  headers: Record<string, string> = {}
): Promise<Answer> {
  const response = await open(app, binding, name, params, headers)
  const text = await response.text()
  const about = { status: response.status, headers: response.headers }
  if (text.startsWith('data:'))
    return { ...about, events: eventsOf(text).map((event) => (binding === 'rpc' ? event.result : event)) }
  const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>)
  const error = body['error'] as (Record<string, unknown> & { code: number; message: string }) | undefined
  if (error === undefined) return { ...about, result: binding === 'rpc' ? body['result'] : body }
  return { ...about, error: toRefusal(error) }
}

/** The same request, with its answer unread. It names its version, as a client must, unless `headers` do. */
export function open(
  { url }: Pick<TestApp, 'url'>,
  binding: BindingName,
  name: OperationName,
  params: object = {},
  given: Record<string, string> = {}
): Promise<Response> {
  const isNamed = Object.keys(given).some((each) => each.toLowerCase() === 'a2a-version')
  const headers = { ...(!isNamed && { 'a2a-version': '1.0' }), ...given }
  const json = { 'content-type': 'application/json', ...headers }
  if (binding === 'rpc')
    return fetch(url, {
      method: 'POST',
      headers: json,
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: OPERATIONS[name].rpc['1.0'], params })
    })
  const [method, template] = OPERATIONS[name].rest['1.0'][0]!.split(' ') as [string, string]
  const rest = { ...params } as Record<string, unknown>
  const path = template.replaceAll(/\{(\w+)\}/g, (_, key: string) => {
    const value = encodeURIComponent(String(rest[key]))
    delete rest[key]
    return value
  })
  if (method === 'POST') return fetch(url + path, { method, headers: json, body: JSON.stringify(rest) })
  const query = new URLSearchParams(rest as Record<string, string>).toString()
  return fetch(`${url}${path}${query && `?${query}`}`, { method, headers })
}

function toRefusal(error: Record<string, unknown> & { code: number; message: string }): Refusal {
  const { code, message, status } = error
  const details = (error['data'] ?? error['details']) as Refusal['details']
  const find = (type: string) =>
    details.find((each) => each['@type'] === `type.googleapis.com/google.rpc.${type}`)
  return {
    code,
    message,
    ...(typeof status === 'string' && { status }),
    details,
    reason: find('ErrorInfo')?.reason as string | undefined,
    fields: (find('BadRequest')?.fieldViolations ?? []).map(({ field }: { field: string }) => field)
  }
}
