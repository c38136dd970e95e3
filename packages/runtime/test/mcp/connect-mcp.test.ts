import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { getDefaultEnvironment } from '@modelcontextprotocol/sdk/client/stdio.js'
import { McpServer as SdkServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { toLoggable } from '@svc/contract'
import { connectMcp, mcpTools, type McpServer } from '@svc/runtime'
import t from 'tap'
import { collect, makeAgent, makeContext } from '../helpers/make-agent.ts'

// As documented in docs/mcp.md.
const SAFE = new Set(['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER'])
const program = resolve(import.meta.dirname, '../fixtures/mcp-server.ts')

t.test('a server program', async (t) => {
  process.env['PARENT_SECRET'] = 'SECRET'
  t.teardown(() => delete process.env['PARENT_SECRET'])
  const client = await connectMcp({
    command: process.execPath,
    args: ['--no-warnings', program],
    env: { GIVEN: 'yes' }
  })
  t.teardown(() => client.close())
  const { agent } = makeAgent([{ toolCalls: [{ toolName: 'env' }] }, 'Done.'], {
    tools: await mcpTools(client)
  })
  const run = await collect(agent.stream('Go', makeContext().context))
  const { GIVEN, ...others } = JSON.parse(String(run.ofType('tool.result')[0]?.result)) as Record<
    string,
    string
  >
  t.equal(GIVEN, 'yes')
  t.match(others, getDefaultEnvironment(), 'and what the SDK deems safe')
  t.ok(Object.keys(getDefaultEnvironment()).every((name) => SAFE.has(name)))
  t.notOk('PARENT_SECRET' in others, 'and nothing else of this process')
})

t.test('a server behind a URL', async (t) => {
  const seen: (string | undefined)[] = []
  const http = createServer(async (request, reply) => {
    seen.push(request.headers.authorization)
    const server = new SdkServer({ name: 'remote', version: '1' })
    server.registerTool('ping', {}, () => ({ content: [{ type: 'text', text: 'pong' }] }))
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined } as never)
    await server.connect(transport as never)
    await transport.handleRequest(request, reply)
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  t.teardown(() => (http.closeAllConnections(), http.close()))
  const { port } = http.address() as AddressInfo
  const client = await connectMcp({
    url: `http://127.0.0.1:${port}/mcp`,
    headers: { authorization: 'Bearer k' }
  })
  t.teardown(() => client.close())
  const { agent } = makeAgent([{ toolCalls: [{ toolName: 'ping' }] }, 'Done.'], {
    tools: await mcpTools(client)
  })
  const run = await collect(agent.stream('Go', makeContext().context))
  t.match(run.ofType('tool.result'), [{ result: 'pong' }])
  t.ok(seen.every((authorization) => authorization === 'Bearer k'))
})

t.test('an unreachable server', async (t) => {
  await t.rejects(connectMcp({ command: 'no-such-program-here' }), {
    code: 'RUN_ERR_MCP',
    message: /cannot connect/
  })
  await t.rejects(connectMcp({ url: 'http://127.0.0.1:1/mcp' }), { code: 'RUN_ERR_MCP' })
})

t.test('a program that does not start: its stderr is the cause', async (t) => {
  const code = `process.stderr.write('x'.repeat(5_000) + ' no TOKEN is set\\n', () => process.exit(1))`
  const err: unknown = await connectMcp({ command: process.execPath, args: ['-e', code] }).catch(
    (e: unknown) => e
  )
  t.match(err, {
    code: 'RUN_ERR_MCP',
    message: /Connection closed/,
    cause: { message: /x no TOKEN is set$/ }
  })
  const { message, cause } = err as Error & { cause: Error }
  t.notMatch(message, 'TOKEN')
  t.ok(cause.message.length < 2_200, 'no more than 2 KiB')
  t.match(JSON.stringify(toLoggable(err)), 'no TOKEN is set')
})

t.test(
  'a program that dies during a call: the log has its stderr, the model and clients do not',
  async (t) => {
    const client = await connectMcp({ command: process.execPath, args: ['--no-warnings', program] })
    t.teardown(() => client.close())
    const calls = [{ toolCalls: [{ toolName: 'die' }] }, 'Sorry.']
    const { agent, model } = makeAgent(calls, { tools: await mcpTools(client) })
    const { context, logged } = makeContext()
    const run = await collect(agent.stream('Go', context))
    t.match(run.ofType('tool.error'), [
      { error: { code: 'RUN_ERR_TOOL_FAILED', message: /Connection closed/ } }
    ])
    t.notMatch(JSON.stringify([run.parts, model.calls[1]?.prompt]), 'luck')
    t.match(logged, [{ message: 'tool failed', details: { err: { cause: { stack: /x no more luck$/m } } } }])
  }
)

t.test('a server without a location', async (t) => {
  const bad: [unknown, RegExp][] = [
    [{}, /connectMcp: neither a command nor a url/],
    [undefined, /connectMcp: neither a command nor a url/],
    [{ commnd: 'x' }, /connectMcp: neither a command nor a url/],
    [{ command: '' }, /connectMcp: command/],
    [{ command: 'x', arg: [] }, /connectMcp: arg:/],
    [{ command: 'x', env: { A: 1 } }, /connectMcp: env\/A/],
    [{ url: 'nonsense' }, /connectMcp: url: not a URL/],
    [{ url: 'http://127.0.0.1:1', header: {} }, /connectMcp: header:/]
  ]
  for (const [server, message] of bad)
    await t.rejects(connectMcp(server as McpServer), { code: 'RUN_ERR_MCP', message }, JSON.stringify(server))
})

t.test('without the SDK the error says what to install', async (t) => {
  const hook = `import { register } from 'node:module'
register('data:text/javascript,' + encodeURIComponent(\`export async function resolve(name, context, next) {
  if (name.startsWith('@modelcontextprotocol/') || name === '@opentelemetry/api')
    throw Object.assign(new Error('absent'), { code: 'ERR_MODULE_NOT_FOUND' })
  return next(name, context)
}\`))
const { connectMcp, traceEvents, Agent } = await import('@svc/runtime')
const stop = await traceEvents()
stop()
await connectMcp({ command: 'x' }).catch(({ code, message }) => process.stdout.write(code + ' ' + message))`
  const child = spawn(
    process.execPath,
    ['--conditions=@svc/source', '--no-warnings', '--input-type=module', '-e', hook],
    {
      cwd: resolve(import.meta.dirname, '../..')
    }
  )
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
  await once(child, 'close')
  t.equal(
    output,
    'RUN_ERR_NOT_INSTALLED @modelcontextprotocol/sdk is not installed; install it to use this feature'
  )
})
