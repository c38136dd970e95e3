import { join } from 'node:path'
import mcp from '@svc/mcp'
import registryPlugin, { createRegistry } from '@svc/registry'
import Fastify from 'fastify'
import t from 'tap'
import { Ledger } from '../bench/soak/agents/ledger.ts'
import { addPlannedRunnables } from '../bench/soak/agents/planned-runnables.ts'
import { randomJob } from '../bench/soak/agents/random-plan.ts'
import { Random } from '../bench/soak/random.ts'
import { faultsOfMessage } from './helpers/mcp-schemas.ts'
import { readAlong } from './helpers/read-along.ts'
import { answerForm, connectMcp, requestTask } from './helpers/wires/mcp-requests.ts'

const RUNS = 60
const TASKS = 10
const REVISIONS = ['2026-07-28', '2025-11-25']

t.setTimeout(300_000)

/** Runs a tool as a task and answers what it asks; resolves with the states of the task, and its result. */
async function runAsTask(send: typeof fetch, url: string, name: string, message: string) {
  const states = new Set<string>()
  let task = await requestTask(url, 'tools/call', { name, arguments: { message } }, send)
  const { taskId } = task
  // The run was faster than its task.
  const { _meta: meta } = task
  if (taskId === undefined) return { runId: meta!.runId!, states, result: task }
  while (task.status === 'working' || task.status === 'input_required') {
    states.add(task.status)
    const inputResponses = Object.fromEntries(
      Object.entries(task.inputRequests ?? {}).map(([inputId, { params }]) => [
        inputId,
        answerForm(params.message)
      ])
    )
    if (Object.keys(inputResponses).length > 0)
      await requestTask(url, 'tasks/update', { taskId, inputResponses }, send)
    task = await requestTask(url, 'tasks/get', { taskId }, send)
  }
  return { runId: taskId, states, result: task.result }
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

  let progress = 0
  const clients = await Promise.all(
    REVISIONS.map(async (revision) => {
      const along = readAlong()
      return { revision, along, client: await connectMcp(`${origin}/mcp`, revision, along.fetch) }
    })
  )

  for (let index = 0; index < RUNS; index++) {
    const { kind, name, plan } = randomJob(random, `call-${index}`)
    const message = JSON.stringify(plan)
    // A tool that the caller serves is none that MCP has.
    if (message.includes('"pick"')) continue
    const { client } = clients[index % clients.length]!
    const tool = kind === 'agent' ? name : `${kind}.${name}`
    const onprogress = () => void progress++
    const answer = await client.callTool({ name: tool, arguments: { message } }, { onprogress })
    const { _meta: meta, content, isError } = answer
    const { result } = (await app.runs.get(String(meta?.['runId'])))!
    t.notOk(isError, JSON.stringify(content))
    const [first] = content as { type: string; text?: string }[]
    const expected = result!.text === '' ? undefined : result!.text
    if (expected !== undefined) t.equal(first?.text, expected, `${kind} ${name}`)
  }
  t.ok(progress > 0)

  const [{ along: taskAlong }] = clients as [(typeof clients)[number]]
  const states = new Set<string>()
  for (let index = 0; index < TASKS; index++) {
    const { kind, name, plan } = randomJob(random, `task-${index}`)
    const message = JSON.stringify(plan)
    if (message.includes('"pick"')) continue
    const tool = kind === 'agent' ? name : `${kind}.${name}`
    const ended = await runAsTask(taskAlong.fetch, `${origin}/mcp`, tool, message)
    for (const state of ended.states) states.add(state)
    const { result } = (await app.runs.get(ended.runId))!
    if (result!.text !== '')
      t.equal(ended.result?.content?.[0]?.text, result!.text, `${kind} ${name} as a task`)
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
    t.ok(kinds.has('notifications/progress'))
    t.strictSame(faults, [], `${revision}: each message fits the published schema`)
  }
})
