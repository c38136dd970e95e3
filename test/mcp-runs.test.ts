import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import mcp from '@svc/mcp'
import registryPlugin, { createRegistry } from '@svc/registry'
import Fastify from 'fastify'
import t from 'tap'
import { Ledger } from '../bench/soak/agents/ledger.ts'
import { answerTo } from '../bench/soak/agents/plan.ts'
import { addPlannedRunnables } from '../bench/soak/agents/planned-runnables.ts'
import { randomJob } from '../bench/soak/agents/random-plan.ts'
import { Random } from '../bench/soak/random.ts'
import { faultsOfMessage } from './helpers/mcp-schemas.ts'
import { readAlong, type AlongReader } from './helpers/read-along.ts'

const RUNS = 60
const TASKS = 10
const REVISIONS = ['2026-07-28', '2025-11-25']

t.setTimeout(300_000)

/** The answer to a form, as the plan of the run has it. */
function answerForm(message: string) {
  const approval = /^Approve the call of the tool "[^"]*" with (.*)\?$/.exec(message)
  if (approval !== null) {
    const { accept } = answerTo((JSON.parse(approval[1]!) as { key: string }).key)
    return { action: 'accept' as const, content: { approved: accept } }
  }
  const { accept, choice } = answerTo(/for (.*)\?/.exec(message)![1]!)
  return accept ? { action: 'accept' as const, content: { choice } } : { action: 'decline' as const }
}

/** Sends a request of the extension for tasks and returns its result. */
async function sendAsTaskClient(
  { fetch }: AlongReader,
  url: string,
  method: string,
  params: Record<string, unknown>
): Promise<Record<string, unknown>> {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {
      elicitation: { form: {} },
      extensions: { 'io.modelcontextprotocol/tasks': {} }
    }
  }
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      'mcp-name': String(params['taskId'] ?? params['name'])
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } })
  })
  return ((await response.json()) as { result: Record<string, unknown> }).result
}

interface Answer {
  readonly content: readonly { text?: string }[]
}

/** Runs a tool as a task and answers what it asks; resolves with the states of the task, and its result. */
async function runAsTask(along: AlongReader, url: string, name: string, message: string) {
  const states = new Set<unknown>()
  let task = await sendAsTaskClient(along, url, 'tools/call', { name, arguments: { message } })
  const taskId = task['taskId'] as string | undefined
  // The run was faster than its task.
  if (taskId === undefined) {
    const { runId } = task['_meta'] as { runId: string }
    return { runId, states, result: task as unknown as Answer }
  }
  while (task['status'] === 'working' || task['status'] === 'input_required') {
    states.add(task['status'])
    const requests = (task['inputRequests'] ?? {}) as Record<string, { params: { message: string } }>
    const inputResponses = Object.fromEntries(
      Object.entries(requests).map(([inputId, { params }]) => [inputId, answerForm(params.message)])
    )
    if (Object.keys(inputResponses).length > 0)
      await sendAsTaskClient(along, url, 'tasks/update', { taskId, inputResponses })
    task = await sendAsTaskClient(along, url, 'tasks/get', { taskId })
  }
  return { runId: taskId, states, result: task['result'] as Answer }
}

t.test('random runs of agents, teams and workflows, as the official client of MCP sees them', async (t) => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1e9)
  t.comment(`SEED=${seed}`)
  const random = new Random(seed)
  const registry = createRegistry()
  addPlannedRunnables(registry, new Ledger(join(t.testdir(), 'ledger')), 0)
  const app = Fastify({ forceCloseConnections: true })
  await app.register(registryPlugin, { registry })
  await app.register(mcp, { instructions: 'Ask the agents', title: 'Agents', taskAfter: 0 })
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())

  const counts = { forms: 0, progress: 0 }
  const clients = await Promise.all(
    REVISIONS.map(async (revision) => {
      const along = readAlong()
      const client = new Client(
        { name: 'test', version: '1.0.0' },
        {
          capabilities: { elicitation: { form: {} } },
          versionNegotiation: { mode: revision === '2026-07-28' ? { pin: revision } : 'legacy' }
        }
      )
      client.setRequestHandler('elicitation/create', ({ params }) => {
        counts.forms++
        return answerForm(params.message)
      })
      const { fetch } = along
      await client.connect(new StreamableHTTPClientTransport(new URL(`${origin}/mcp`), { fetch }))
      return { revision, client, along }
    })
  )

  for (let index = 0; index < RUNS; index++) {
    const { kind, name, plan } = randomJob(random, `call-${index}`)
    const message = JSON.stringify(plan)
    // A tool that the caller serves is none that MCP has.
    if (message.includes('"pick"')) continue
    const { client } = clients[index % clients.length]!
    const tool = kind === 'agent' ? name : `${kind}.${name}`
    const onprogress = () => void counts.progress++
    const answer = await client.callTool({ name: tool, arguments: { message } }, { onprogress })
    const { _meta: meta, content, isError } = answer
    const { result } = (await app.runs.get(String(meta?.['runId'])))!
    t.notOk(isError, JSON.stringify(content))
    const [first] = content as { type: string; text?: string }[]
    const expected = result!.text === '' ? undefined : result!.text
    if (expected !== undefined) t.equal(first?.text, expected, `${kind} ${name}`)
  }
  t.comment(JSON.stringify(counts))
  t.ok(counts.forms > 0 && counts.progress > 0)

  const [{ along: taskAlong }] = clients as [(typeof clients)[number]]
  const states = new Set<unknown>()
  for (let index = 0; index < TASKS; index++) {
    const { kind, name, plan } = randomJob(random, `task-${index}`)
    const message = JSON.stringify(plan)
    if (message.includes('"pick"')) continue
    const tool = kind === 'agent' ? name : `${kind}.${name}`
    const ended = await runAsTask(taskAlong, `${origin}/mcp`, tool, message)
    for (const state of ended.states) states.add(state)
    const { result } = (await app.runs.get(ended.runId))!
    if (result!.text !== '') t.equal(ended.result.content[0]?.text, result!.text, `${kind} ${name} as a task`)
  }
  t.ok(states.has('working'))

  for (const { revision, client, along } of clients) {
    await client.listTools()
    await client.listPrompts()
    await client.listResourceTemplates()
    const { resources } = await client.listResources()
    await client.readResource({ uri: resources[0]!.uri })
    await t.rejects(client.readResource({ uri: 'run://nobody' }))
    await t.rejects(client.callTool({ name: 'nobody', arguments: {} }))
    if (revision === '2026-07-28') await (await client.listen({ toolsListChanged: true })).close()
    await client.close()
    const messages = await along.messages()
    const kinds = new Set(messages.map(({ method, message }) => message.method ?? method))
    t.comment(`${revision}: ${messages.length} messages, ${[...kinds].join(' ')}`)
    const faults = messages.flatMap((seen) =>
      faultsOfMessage(revision, seen).map((fault) => `${fault} in ${JSON.stringify(seen)}`)
    )
    t.strictSame(faults, [], `${revision}: each message fits the published schema`)
  }
})
