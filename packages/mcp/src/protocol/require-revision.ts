import type { IncomingHttpHeaders } from 'node:http'
import { Type } from '@sinclair/typebox'
import {
  checkParams,
  headerMismatch,
  IdSchema,
  isModern,
  LEGACY_REVISIONS,
  META_KEYS,
  MODERN,
  RPC_CODES,
  RpcError,
  unsupportedRevision,
  type Request
} from './message.ts'

/** The parameter that the header `Mcp-Name` repeats, by the method. */
const NAMED: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId']
])

const ENCODED = /^=\?base64\?(.*)\?=$/s
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** Requires that the header names what the body names. @throws RpcError */
function requireNameHeader(
  method: string,
  params: Readonly<Record<string, unknown>>,
  header: string | undefined
): void {
  const name = params[NAMED.get(method) ?? '']
  if (typeof name !== 'string') return
  if (header === undefined || decode(header) !== name) throw headerMismatch('Mcp-Name', name)
}

// What no header can hold is in Base64.
function decode(header: string): string | undefined {
  const [, base64] = ENCODED.exec(header) ?? []
  if (base64 === undefined) return header
  return BASE64.test(base64) ? Buffer.from(base64, 'base64').toString('utf8') : undefined
}

const object = Type.Object({})
/** What each request since 2026-07-28 says in its `_meta`. */
const requireEnvelope = checkParams(
  Type.Object({
    [META_KEYS.revision]: Type.String(),
    [META_KEYS.capabilities]: Type.Object({
      elicitation: Type.Optional(object),
      extensions: Type.Optional(Type.Record(Type.String(), object))
    }),
    [META_KEYS.client]: Type.Optional(Type.Object({ name: Type.String(), version: Type.String() })),
    progressToken: Type.Optional(IdSchema)
  }),
  'params/_meta',
  400
)

/**
 * True if a request is one of 2026-07-28, false if of an earlier revision. The body decides; the headers, by which proxies route, must
 * say the same.
 * @throws RpcError if it is of no known revision, or contradicts itself
 */
export function requireRevision({ method, params }: Request, headers: IncomingHttpHeaders): boolean {
  const header = headerOf(headers, 'mcp-protocol-version')
  const meta = params?.['_meta'] as Readonly<Record<string, unknown>> | null | undefined
  const isNamed = typeof meta === 'object' && meta !== null && META_KEYS.revision in meta
  if (!isNamed && (!isModern(header) || method === 'initialize')) {
    requireLegacy(method, header, headers)
    return false
  }
  const { [META_KEYS.revision]: revision } = requireEnvelope(meta ?? {})
  if (header !== revision) throw headerMismatch('MCP-Protocol-Version', revision)
  if (revision !== MODERN) throw unsupportedRevision(revision)
  if (headerOf(headers, 'mcp-method') !== method) throw headerMismatch('Mcp-Method', method)
  requireNameHeader(method, params ?? {}, headerOf(headers, 'mcp-name'))
  return true
}

function requireLegacy(method: string, header: string | undefined, { accept }: IncomingHttpHeaders) {
  if (method === 'initialize') {
    if (isModern(header)) throw headerMismatch('MCP-Protocol-Version', LEGACY_REVISIONS[0]!)
  } else if (header !== undefined && !LEGACY_REVISIONS.includes(header))
    throw new RpcError(RPC_CODES.Refused, `MCP-Protocol-Version: expected ${LEGACY_REVISIONS.join(', ')}`, {
      status: 400
    })
  if (!accepts(accept, 'application/json') || !accepts(accept, 'text/event-stream'))
    throw new RpcError(RPC_CODES.Refused, 'Accept: expected application/json and text/event-stream', {
      status: 406
    })
}

// Also by a range, such as those that `curl` and proxies send; a client that names none takes all (RFC 9110, section 12.5.1).
function accepts(accept = '*/*', type: string): boolean {
  const [main] = type.split('/', 1)
  const ranges = accept.split(',').map((range) => range.split(';', 1)[0]!.trim().toLowerCase())
  return ranges.some((range) => range === type || range === `${main}/*` || range === '*/*')
}

// Node joins lines of one name; no value is then that of the body.
function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'string' ? value.trim() : undefined
}
