import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { NumberedPart } from '@svc/registry'
import { answerTo } from '../../../bench/soak/agents/plan.ts'

/** The extension that makes long calls tasks. */
const TASKS = 'io.modelcontextprotocol/tasks'

/** Connects the official client, which fills in each form as the plan of the run has it. */
export async function connectMcp(url: string, revision: string, send: typeof fetch = fetch): Promise<Client> {
  const mode = revision === '2026-07-28' ? { pin: revision } : ('legacy' as const)
  const client = new Client(
    { name: 'test', version: '1.0.0' },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } }
  )
  client.setRequestHandler('elicitation/create', ({ params }) => answerForm(params.message))
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { fetch: send }))
  return client
}

/** The answer to a form, as the plan of the run has it. */
export function answerForm(message: string) {
  const approval = /^Approve the call of the tool "[^"]*" with (.*)\?$/.exec(message)
  if (approval !== null) {
    const { accept } = answerTo((JSON.parse(approval[1]!) as { key: string }).key)
    return { action: 'accept' as const, content: { approved: accept } }
  }
  const { accept, choice } = answerTo(/for (.*)\?/.exec(message)![1]!)
  return accept ? { action: 'accept' as const, content: { choice } } : { action: 'decline' as const }
}

/** Reads the log of a run, as far as it is written, as a resource. */
export async function readRun(client: Client, runId: string): Promise<NumberedPart[]> {
  const { contents } = await client.readResource({ uri: `run://${runId}` })
  const { text } = contents[0] as { text: string }
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as NumberedPart)
}

/** The result of a call of a tool, or a task. */
export interface McpResult {
  readonly resultType?: string
  readonly taskId?: string
  readonly status?: string
  readonly inputRequests?: Readonly<Record<string, { readonly params: { readonly message: string } }>>
  readonly result?: McpResult
  readonly isError?: boolean
  readonly content?: readonly { readonly type: string; readonly text?: string }[]
  readonly _meta?: { readonly runId?: string; readonly code?: string }
}

/** Sends a request of a client that knows tasks, which the official one refuses. */
export async function requestTask(
  url: string,
  method: string,
  params: object,
  send: typeof fetch = fetch
): Promise<McpResult> {
  const { taskId, name } = params as { taskId?: string; name?: string }
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': { elicitation: {}, extensions: { [TASKS]: {} } }
  }
  const response = await send(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      'mcp-name': taskId ?? name!
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } })
  })
  const text = await response.text()
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
  const { result, error } = JSON.parse(isStream ? /^data: (.*)$/m.exec(text)![1]! : text) as {
    result?: McpResult
    error?: object
  }
  if (result === undefined) throw new Error(`${method}: ${JSON.stringify(error)}`)
  return result
}
