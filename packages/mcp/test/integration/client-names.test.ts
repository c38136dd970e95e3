import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import type { RunnableDefinition } from '@svc/registry'
import t from 'tap'
import { connect, mcpApp, REVISIONS } from '../helpers/mcp-app.ts'

/** What Claude Desktop, Copilot CLI and Codex take; one other name, and they refuse the whole server. */
const PATTERN = /^[a-zA-Z0-9_-]{1,64}$/
const LONG = 'report-of-all-the-things-that-happened-in-the-north-in-the-year-'

type Key = [kind: 'agent' | 'team' | 'workflow', name: string]
const KEYS: Key[] = [
  ['agent', 'writer'],
  ['agent', 'a.b'],
  ['agent', 'a_b'],
  ['agent', 'a b'],
  ['agent', 'Überblick 1'],
  ['agent', '日本'],
  ['agent', '中国'],
  ['agent', 'team.newsroom'],
  ['agent', 'team_newsroom'],
  ['agent', `${LONG}2024`],
  ['agent', `${LONG}2025`],
  ['team', 'newsroom'],
  ['team', 'a.b'],
  ['workflow', 'newsroom'],
  ['workflow', LONG]
]
const DIST = createRequire(import.meta.url).resolve('mcp-remote/package.json')
const BRIDGE = join(DIST, '../dist/proxy.js')
const INSPECTOR = join(
  import.meta.dirname,
  '../../node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js'
)

function runnableOf([kind, name]: Key): RunnableDefinition {
  return {
    kind,
    name,
    describe: () => ({ skills: [{ name: 'fact-check' }, { name: 'look up' }, { name: 'look_up' }] }),
    run: () => `${kind} ${name}`
  }
}

for (const revision of REVISIONS)
  void t.test(`${revision}: every name fits every client, is unique and stays the same`, async (t) => {
    const listed: string[][] = []
    for (const keys of [KEYS, KEYS.toReversed()]) {
      const { url } = await mcpApp(t, { runnables: keys.map(runnableOf) })
      const client = await connect(t, url, { revision })
      const tools = (await client.listTools()).tools.map(({ name }) => name)
      const prompts = (await client.listPrompts()).prompts.map(({ name }) => name)
      for (const name of [...tools, ...prompts]) t.match(name, PATTERN)
      t.equal(new Set(tools).size, KEYS.length, 'unique tools')
      t.equal(new Set(prompts).size, KEYS.length * 3, 'unique prompts')
      listed.push([...tools, ...prompts].toSorted())

      const called: string[] = []
      for (const name of tools) called.push(await call(client, name))
      t.same(called.toSorted(), KEYS.map((key) => key.join(' ')).toSorted(), 'each tool is its runnable')
      for (const name of prompts) {
        const { messages } = await client.getPrompt({ name })
        t.ok(tools.some((tool) => JSON.stringify(messages).includes(`\\"${tool}\\"`)))
      }
    }
    t.same(listed[0], listed[1], 'whatever the order in which they are registered')
    const [names = []] = listed
    for (const name of ['writer', 'a_b', 'team_newsroom', 'workflow_newsroom', 'writer_fact-check'])
      t.ok(names.includes(name), name)
  })

void t.test('calls by earlier names are still of their runnables', async (t) => {
  const { url } = await mcpApp(t, { runnables: KEYS.map(runnableOf) })
  const client = await connect(t, url)
  const EARLIER: Record<string, string> = {
    'a.b': 'agent a.b',
    // An agent came first.
    'team.newsroom': 'agent team.newsroom',
    'team.a.b': 'team a.b',
    'workflow.newsroom': 'workflow newsroom',
    [`${LONG}2024`]: `agent ${LONG}2024`,
    [`workflow.${LONG}`]: `workflow ${LONG}`
  }
  for (const [name, runnable] of Object.entries(EARLIER)) t.equal(await call(client, name), runnable)
  const { messages } = await client.getPrompt({ name: 'workflow.newsroom.look up' })
  t.match(JSON.stringify(messages), /workflow_newsroom.*look up/)
  await t.rejects(client.callTool({ name: 'agent.writer', arguments: { message: 'x' } }), { code: -32602 })

  const alone = await mcpApp(t, { runnables: [runnableOf(['agent', 'team_x'])] })
  t.equal(await call(await connect(t, alone.url), 'team_x'), 'agent team_x')
})

void t.test('the bridge to stdio that Claude Desktop starts lists and calls all of them', async (t) => {
  const { url } = await mcpApp(t, { runnables: KEYS.map(runnableOf) })
  const folder = mkdtempSync(join(tmpdir(), 'mcp-remote-'))
  const bridge = spawn(process.execPath, [BRIDGE, url, '--allow-http', '--transport', 'http-only'], {
    env: { ...process.env, MCP_REMOTE_CONFIG_DIR: folder, NO_PROXY: '127.0.0.1' },
    stdio: ['pipe', 'pipe', 'ignore']
  })
  t.teardown(() => {
    bridge.kill()
    rmSync(folder, { recursive: true, force: true })
  })
  const lines = createInterface(bridge.stdout)[Symbol.asyncIterator]()
  const ask = async (id: number, method: string, params: object) => {
    bridge.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    const { value } = (await lines.next()) as { value: string }
    return JSON.parse(value) as { id: number; result: Record<string, unknown> }
  }
  const clientInfo = { name: 'claude-ai', version: '0.1.0' }
  await ask(0, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo })
  bridge.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`)
  const { result } = await ask(1, 'tools/list', {})
  const names = (result['tools'] as { name: string }[]).map(({ name }) => name)
  t.equal(names.length, KEYS.length)
  for (const name of names) t.match(name, PATTERN)
  const answer = await ask(2, 'tools/call', { name: 'team_newsroom', arguments: { message: 'x' } })
  t.match(answer.result, { content: [{ type: 'text', text: 'team newsroom' }] })
})

void t.test('the command line of the Inspector lists and calls all of them', async (t) => {
  const { url } = await mcpApp(t, { runnables: KEYS.map(runnableOf) })
  const inspect = async (...args: string[]) => {
    const all = [INSPECTOR, '--cli', url, '--transport', 'http', '--method', ...args]
    const { stdout } = await promisify(execFile)(process.execPath, all)
    return JSON.parse(stdout) as Record<string, unknown>
  }
  const [list, answer] = await Promise.all([
    inspect('tools/list'),
    inspect('tools/call', '--tool-name', 'workflow_newsroom', '--tool-arg', 'message=x')
  ])
  const names = (list['tools'] as { name: string }[]).map(({ name }) => name)
  t.equal(names.length, KEYS.length)
  for (const name of names) t.match(name, PATTERN)
  t.match(answer, { content: [{ type: 'text', text: 'workflow newsroom' }] })
})

async function call(client: Awaited<ReturnType<typeof connect>>, name: string): Promise<string> {
  const { content } = await client.callTool({ name, arguments: { message: 'x' } })
  return (content as { text: string }[])[0]!.text
}
