import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { io } from 'socket.io-client'
import { startServer, type ServerProcess } from '../server-process.ts'
import type { Finding } from './finding.ts'
import { pulseOf } from './pulse.ts'

const MEBIBYTE = 1_048_576
const READERS = 10
const ACCEPT = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

/** Runs whose logs are large: one of many small parts, one of few large ones, which has a file too. */
interface Made {
  said: string
  called: string
  file: string
}
/** Reads an answer to its end; gives how many bytes it had. */
type Read = (server: ServerProcess, made: Made) => Promise<number>

/**
 * Ten clients at once on each route that reads, of a service in a process of its own whose logs have 8 MB: how long its event loop stands
 * still, and what it takes of memory.
 */
export async function soakReads(): Promise<Finding[]> {
  const memory = await startServer('memory', 'soak/read-server.ts')
  const found = await measure(memory, '')
  await memory.stop()
  const folder = mkdtempSync(join(tmpdir(), 'reads-'))
  try {
    const sqlite = await startServer(`sqlite:${join(folder, 'reads.db')}`, 'soak/read-server.ts')
    found.push(...(await measure(sqlite, ', SQLite')))
    await sqlite.stop()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return found
}

async function measure(server: ServerProcess, where: string): Promise<Finding[]> {
  const made = (await (await fetch(`${server.url}/made`)).json()) as Made
  const findings: Finding[] = []
  for (const [route, read] of Object.entries(ROUTES)) {
    const readAll = () => Promise.all(Array.from({ length: READERS }, () => read(server, made)))
    // What is compiled or opened at the first time is not of the readers, nor how far V8 lets its young generation grow.
    await readAll()
    const { rss } = await pulseOf(server)
    server.forgetPeak()
    const sizes = await readAll()
    const grown = (server.peakRss() - rss) / MEBIBYTE
    const { stop, turn } = await pulseOf(server)
    const what = `${route}, ${READERS} of ${(Math.max(...sizes) / 1e6).toFixed(1)} MB${where}`
    findings.push(
      { what: `${what}: the longest stop of the event loop`, value: stop, limit: 100, unit: 'ms' },
      { what: `${what}: the most CPU time of one turn`, value: turn, limit: 100, unit: 'ms' },
      { what: `${what}: memory over idle`, value: grown, limit: 100, unit: 'MiB' }
    )
  }
  return findings
}

const ROUTES: Record<string, Read> = {
  'HTTP /runs/:id': (server, { said }) => get(server, `/runs/${said}`),
  'HTTP /runs/:id, tools': (server, { called }) => get(server, `/runs/${called}`),
  'HTTP /runs/:id/stream': (server, { said }) => get(server, `/runs/${said}/stream`),
  'HTTP /runs/:id/stream, tools': (server, { called }) => get(server, `/runs/${called}/stream`),
  'HTTP /runs/:id/files/:id': (server, { called, file }) => get(server, `/runs/${called}/files/${file}`),
  'HTTP /sessions/:id': (server) => get(server, '/sessions/agent/said/large?limit=100'),
  'HTTP /runs': (server) => get(server, '/runs?limit=100'),
  'Socket.IO run.watch': (server, { said }) => watch(server, said),
  'Socket.IO run.watch, tools': (server, { called }) => watch(server, called),
  'A2A GetTask': (server, { said }) => call(server, 'GetTask', { id: said }),
  'A2A GetTask, tools': (server, { called }) => call(server, 'GetTask', { id: called }),
  'A2A ListTasks': (server) => call(server, 'ListTasks', { pageSize: 100, includeArtifacts: true }),
  'MCP resources/read': (server, { said }) => ask(server, 'resources/read', { uri: `run://${said}` }),
  'MCP resources/read, tools': (server, { called }) =>
    ask(server, 'resources/read', { uri: `run://${called}` }),
  'MCP resources/read of a file': (server, { called, file }) =>
    ask(server, 'resources/read', { uri: `run://${called}/files/${file}` }),
  'MCP tasks/get': (server, { said }) => ask(server, 'tasks/get', { taskId: said }),
  'MCP batch of 10': (server, { said }) =>
    post(
      server,
      '/api/mcp',
      Array.from({ length: 10 }, (_, id) => ({
        jsonrpc: '2.0',
        id,
        method: 'resources/read',
        params: { uri: `run://${said}` }
      }))
    ),
  'UI chat': (server) => get(server, '/api/chat/said/large?limit=1000'),
  'UI chat, tools': (server) => get(server, '/api/chat/called/large?limit=1000'),
  'AG-UI connect': (server) => get(server, '/api/ag-ui/said/threads/large/connect?limit=1000'),
  'AG-UI connect, tools': (server) => get(server, '/api/ag-ui/called/threads/large/connect?limit=1000'),
  'Responses GET': (server, { said }) => get(server, `/v1/responses/resp_${said}`),
  'Responses GET, tools': (server, { called }) => get(server, `/v1/responses/resp_${called}`),
  'Responses GET as a stream': (server, { said }) => get(server, `/v1/responses/resp_${said}?stream=true`),
  'Responses input_items': (server, { called }) => get(server, `/v1/responses/resp_${called}/input_items`)
}

async function get(server: ServerProcess, path: string): Promise<number> {
  return lengthOf(await fetch(server.url + path), path)
}

async function post(
  server: ServerProcess,
  path: string,
  body: object,
  headers: object = {}
): Promise<number> {
  const answer = await fetch(server.url + path, {
    method: 'POST',
    headers: { ...ACCEPT, ...headers },
    body: JSON.stringify(body)
  })
  return lengthOf(answer, path)
}

function call(server: ServerProcess, method: string, params: object): Promise<number> {
  return post(server, '/a2a', { jsonrpc: '2.0', id: 1, method, params }, { 'a2a-version': '1.0' })
}

// One request as 2026-07-28 has it.
function ask(
  server: ServerProcess,
  method: string,
  params: Readonly<Record<string, string>>
): Promise<number> {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'soak', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {
      extensions: { 'io.modelcontextprotocol/tasks': {} }
    }
  }
  const headers = {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    'mcp-name': Object.values(params)[0]
  }
  return post(
    server,
    '/api/mcp',
    { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } },
    headers
  )
}

async function watch({ url }: ServerProcess, runId: string): Promise<number> {
  const socket = io(url, { transports: ['websocket'], forceNew: true })
  let bytes = 0
  socket.onAny((_event, data: unknown) => (bytes += JSON.stringify(data).length))
  const ended = new Promise((resolve) => socket.once('agent.done', resolve))
  await once(socket as never, 'connect')
  await socket.emitWithAck('run.watch', { runId, parts: true })
  await ended
  socket.disconnect()
  return bytes
}

// Read and dropped.
async function lengthOf(answer: Response, path: string): Promise<number> {
  let bytes = 0
  for await (const chunk of answer.body!) bytes += chunk.length
  if (!answer.ok) throw new Error(`${path}: ${answer.status}, ${bytes} bytes`)
  return bytes
}
