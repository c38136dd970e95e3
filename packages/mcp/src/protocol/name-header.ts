import { headerMismatch } from './rpc-error.ts'

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
export function requireNameHeader(
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
