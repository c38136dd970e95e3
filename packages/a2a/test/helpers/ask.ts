import type { ProtocolVersion } from '../../src/wire/versions.ts'
import type { OperationName } from '../../src/model/requests.ts'
import { isStreaming, OPERATIONS } from '../../src/operations.ts'
import { eventsOf, type RpcReply, type TestApp } from './build-app.ts'
import { connectGrpc, grpcUrlOf } from './grpc-client.ts'

type Served = Pick<TestApp, 'url'>

/** The JSON-RPC responses to an operation: one, or those of a stream. `opened` is called once the answer begins. */
export async function askByRpc(
  { url }: Served,
  name: OperationName,
  version: ProtocolVersion,
  params: object,
  opened: () => unknown = () => {}
): Promise<RpcReply[]> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: OPERATIONS[name].rpc[version], params })
  })
  opened()
  return read<RpcReply>(response)
}

/** The HTTP+JSON answers of a route: one object, or the events of a stream. */
export async function askByRest(
  { url }: Served,
  route: string,
  params: object,
  opened: () => unknown = () => {}
): Promise<unknown[]> {
  const [method, template] = route.split(' ') as [string, string]
  const { tenant, ...rest } = params as Record<string, unknown> & { tenant?: string }
  const path = template.replaceAll(/\{(\w+)\}/g, (_, key: string) => {
    const value = String(rest[key])
    delete rest[key]
    return value
  })
  const query = method === 'GET' ? `?${new URLSearchParams(rest as Record<string, string>).toString()}` : ''
  const at = tenant === undefined ? url : `${url}/${tenant}`
  const response = await fetch(at + path + query, {
    method,
    ...(method === 'POST' && {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(rest)
    })
  })
  opened()
  return read(response)
}

/** The answers over gRPC: one message, or the events of a stream. */
export async function askByGrpc(
  t: { teardown(fn: () => unknown): unknown },
  { origin }: Pick<TestApp, 'origin'>,
  name: OperationName,
  version: ProtocolVersion,
  params: object,
  opened: () => unknown = () => {}
): Promise<unknown[]> {
  const client = connectGrpc(t, await grpcUrlOf(origin), version)
  const method = OPERATIONS[name].grpc[version]!
  if (isStreaming(name)) return client.stream(method, params, { onMetadata: opened })
  return [await client.call(method, params)]
}

async function read<T>(response: Response): Promise<T[]> {
  const body = await response.text()
  return body.startsWith('data:') ? (eventsOf(body) as T[]) : [JSON.parse(body) as T]
}
