import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { OperationName } from '../../src/model/requests.ts'
import type { TaskEvent } from '../../src/model/task.ts'
import { OPERATION_NAMES, OPERATIONS, splitRoute } from '../../src/operations.ts'
import { codecFor } from '../../src/wire/codec-for.ts'
import { toFault } from '../../src/wire/to-fault.ts'
import type { ProtocolVersion } from '../../src/wire/versions.ts'

/** A version on a binding. */
export interface Dialect {
  readonly name: string
  readonly version: ProtocolVersion
  readonly binding: 'JSONRPC' | 'HTTP+JSON'
}

/** Every version on every binding over HTTP. */
export const DIALECTS: readonly Dialect[] = (['1.0', '0.3'] as const).flatMap((version) =>
  (['JSONRPC', 'HTTP+JSON'] as const).map((binding) => ({
    name: `${version} over ${binding}`,
    version,
    binding
  }))
)

/** A request that a service got. */
export interface Asked {
  readonly operation: OperationName
  /** Of a message: the task and the context that it continues, and the JSON of its parts. */
  readonly taskId?: string
  readonly contextId?: string
  readonly messageId?: string
  readonly parts?: unknown
  /** Of the other operations: the id of the task. */
  readonly id?: string
  readonly headers: IncomingHttpHeaders
}

/** What a service answers: events, a refusal, or anything of its own. */
export type Reply = readonly TaskEvent[] | Error | ((response: ServerResponse, encode: Encode) => unknown)

/** The text of an answer in the dialect; `change` gets its JSON before it is wrapped. */
export interface Encode {
  event(event: TaskEvent): string
  answer(event: TaskEvent): string
}

/** Changes the JSON of answers. */
export type Change = (json: unknown) => unknown

/**
 * A service in one dialect, on a free port until the test ends, which answers as `reply` says. It streams, but its card says that it
 * does not; the options need no card.
 */
export async function serveFake(
  t: { teardown(fn: () => unknown): unknown },
  dialect: Dialect,
  reply: (asked: Asked) => Reply | Promise<Reply>,
  change: Change = (json) => json
) {
  const asked: Asked[] = []
  const server = createServer(async (request, response) => {
    if (request.url!.includes('.well-known')) {
      response.end(cardOf(dialect))
      return
    }
    const { rpcId, ...what } = await readRequest(request, dialect)
    asked.push(what)
    send(response, dialect, what, await reply(what), change, rpcId)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { version, binding } = dialect
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { asked, url, options: { url, version, binding } }
}

function cardOf({ version, binding }: Dialect): string {
  const supportedInterfaces = [{ url: '/', protocolBinding: binding, protocolVersion: version }]
  return JSON.stringify({ supportedInterfaces, capabilities: { streaming: false } })
}

type Fields = Record<string, unknown>

async function readRequest(request: IncomingMessage, { version, binding }: Dialect) {
  let text = ''
  for await (const chunk of request) text += String(chunk)
  const body = (text === '' ? {} : JSON.parse(text)) as Fields
  const { headers, method, url = '' } = request
  if (binding === 'JSONRPC') {
    const operation = OPERATION_NAMES.find((name) => OPERATIONS[name].rpc[version] === body['method'])!
    return { operation, ...aboutOf(body['params'] as Fields), headers, rpcId: body['id'] }
  }
  for (const operation of OPERATION_NAMES)
    for (const route of OPERATIONS[operation].rest[version]) {
      const [its, path] = splitRoute(route)
      const match = its === method ? toPattern(path).exec(url.split('?', 1)[0]!) : null
      if (match !== null)
        return { operation, ...aboutOf({ ...body, ...match.groups }), headers, rpcId: undefined }
    }
  throw new Error(`no route has ${method} ${url}`)
}

const toPattern = (path: string) => new RegExp(`^${path.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/:]+)')}$`)

function aboutOf({ message, id }: Fields) {
  const { taskId, contextId, messageId, parts, content } = (message ?? {}) as Fields
  const about = { taskId, contextId, messageId, parts: parts ?? content, id }
  return Object.fromEntries(
    Object.entries(about).filter(([, value]) => value !== undefined)
  ) as Partial<Asked>
}

function send(
  response: ServerResponse,
  { version, binding }: Dialect,
  { operation }: Pick<Asked, 'operation'>,
  reply: Reply,
  change: Change,
  rpcId: unknown
): void {
  const isRpc = binding === 'JSONRPC'
  const codec = codecFor(version, isRpc ? 'rpc' : 'rest')
  const wrap = (json: unknown) =>
    JSON.stringify(isRpc ? { jsonrpc: '2.0', id: rpcId, ...(json as object) } : json)
  const result = (json: unknown) => wrap(change(isRpc ? { result: json } : json))
  const encode: Encode = {
    event: (event) => `data: ${result(toJson(codec.encodeEvent(event)))}\n\n`,
    answer: (event) =>
      result(
        toJson(
          event.type === 'task' && operation !== 'send'
            ? codec.encode.get(event.task)
            : codec.encodeEvent(event)
        )
      )
  }
  if (typeof reply === 'function') return void reply(response, encode)
  if (reply instanceof Error) {
    const fault = toFault(reply)
    const status = isRpc ? 200 : codec.restStatusOf(fault)
    const json = isRpc ? { error: codec.encodeRpcError(fault) } : codec.encodeRestError(fault)
    return void response.writeHead(status, { 'content-type': 'application/json' }).end(wrap(toJson(json)))
  }
  const isStream = operation === 'stream' || operation === 'subscribe'
  response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' })
  response.end(isStream ? reply.map(encode.event).join('') : encode.answer(reply[0]!))
}

// Without what JSON omits.
const toJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
