/** The first message that answers a request of JSON-RPC. */
export interface Reply {
  method?: string
  params?: Record<string, unknown>
  result?: Record<string, unknown>
  error?: { code: number; data?: unknown }
}

/** Sends one request as 2026-07-28 has it, for what the official client hides or does not know. */
export async function sendModern(
  url: string,
  method: string,
  params: Record<string, unknown>,
  { capabilities = {}, token }: { capabilities?: object; token?: string } = {}
): Promise<Reply> {
  const name = params['taskId'] ?? params['name'] ?? params['uri']
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': capabilities
  }
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(typeof name === 'string' && { 'mcp-name': name }),
      ...(token !== undefined && { authorization: `Bearer ${token}` })
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } })
  })
  const text = await response.text()
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
  return JSON.parse(isStream ? /^data: (.*)$/m.exec(text)![1]! : text) as Reply
}
