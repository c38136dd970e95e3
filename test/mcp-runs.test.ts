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

const RUNS = 60

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

t.test('random runs of agents, teams and workflows, as the official client of MCP sees them', async (t) => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1e9)
  t.comment(`SEED=${seed}`)
  const random = new Random(seed)
  const registry = createRegistry()
  addPlannedRunnables(registry, new Ledger(join(t.testdir(), 'ledger')), 0)
  const app = Fastify({ forceCloseConnections: true })
  await app.register(registryPlugin, { registry })
  await app.register(mcp)
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())

  let forms = 0
  const clients: Client[] = []
  for (const mode of [{ pin: '2026-07-28' }, 'legacy' as const]) {
    const client = new Client(
      { name: 'test', version: '1.0.0' },
      { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } }
    )
    client.setRequestHandler('elicitation/create', ({ params }) => {
      forms++
      return answerForm(params.message)
    })
    await client.connect(new StreamableHTTPClientTransport(new URL(`${origin}/mcp`)))
    t.teardown(() => client.close())
    clients.push(client)
  }

  for (let index = 0; index < RUNS; index++) {
    const { kind, name, plan } = randomJob(random, `call-${index}`)
    const message = JSON.stringify(plan)
    // A tool that the caller serves is none that MCP has.
    if (message.includes('"pick"')) continue
    const client = clients[index % clients.length]!
    const tool = kind === 'agent' ? name : `${kind}.${name}`
    const answer = await client.callTool({ name: tool, arguments: { message } })
    const { _meta: meta, content, isError } = answer
    const { result } = (await app.runs.get(String(meta?.['runId'])))!
    t.notOk(isError, JSON.stringify(content))
    const [first] = content as { type: string; text?: string }[]
    const expected = result!.text === '' ? undefined : result!.text
    if (expected !== undefined) t.equal(first?.text, expected, `${kind} ${name}`)
  }
  t.comment(`${forms} forms`)
  t.ok(forms > 0)
})
