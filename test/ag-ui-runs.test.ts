import { join } from 'node:path'
import { HttpAgent, type AssistantMessage, type Interrupt, type ResumeEntry } from '@ag-ui/client'
import registryPlugin, { createRegistry } from '@svc/registry'
import agUi from '@svc/ag-ui'
import Fastify from 'fastify'
import t from 'tap'
import { Ledger } from '../bench/soak/agents/ledger.ts'
import { answerTo } from '../bench/soak/agents/plan.ts'
import { addPlannedRunnables } from '../bench/soak/agents/planned-runnables.ts'
import { randomJob } from '../bench/soak/agents/random-plan.ts'
import { Random } from '../bench/soak/random.ts'

const RUNS = 60
const PICK = {
  name: 'pick',
  description: 'Picks one',
  parameters: { type: 'object', properties: { key: { type: 'string' } } }
}

t.setTimeout(300_000)

/** A tool call of an agent, and its result. */
interface ShownCall {
  readonly id: string
  readonly name: string
  readonly key: string | undefined
  readonly result: unknown
}

/** The tool calls that an agent has, in order. */
function callsOf({ messages }: HttpAgent): ShownCall[] {
  const made = messages.flatMap((message) => (message as AssistantMessage).toolCalls ?? [])
  // Members that run in parallel have messages of their own: the id ends with the place in the log.
  const placeOf = ({ id }: { id: string }) => Number(/\d+$/.exec(id)![0])
  return made
    .toSorted((one, other) => placeOf(one) - placeOf(other))
    .map(({ id, function: { name, arguments: args } }) => ({
      id,
      name,
      key: (JSON.parse(args) as { key?: string }).key,
      result: messages.find((each) => each.role === 'tool' && each.toolCallId === id)?.content
    }))
}

function answerOf({ id, reason, toolCallId, message }: Interrupt, agent: HttpAgent): ResumeEntry {
  const call = callsOf(agent).find((each) => each.id === toolCallId)
  const isApproval = reason === 'tool_call'
  const { accept, choice } = answerTo(isApproval ? call!.key! : /for (.*)\?/.exec(message!)![1]!)
  if (isApproval) return { interruptId: id, status: 'resolved', payload: { approved: accept } }
  if (!accept) return { interruptId: id, status: 'cancelled' }
  return { interruptId: id, status: 'resolved', payload: { choice } }
}

t.test('random runs of agents, teams and workflows, as the client of AG-UI sees them', async (t) => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1e9)
  t.comment(`SEED=${seed}`)
  const random = new Random(seed)
  const registry = createRegistry()
  addPlannedRunnables(registry, new Ledger(join(t.testdir(), 'ledger')), 0)
  const app = Fastify({ forceCloseConnections: true })
  await app.register(registryPlugin, { registry })
  await app.register(agUi, { clientTools: true })
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())
  const counts = { events: 0, requests: 0, interrupts: 0, tools: 0 }

  for (let index = 0; index < RUNS; index++) {
    const { kind, name, plan } = randomJob(random, `thread-${index}`)
    const input = JSON.stringify(plan)
    const tools = input.includes('"pick"') ? [PICK] : []
    const asked = { id: `m-${index}`, role: 'user' as const, content: input }
    const follow = (agent: HttpAgent) => {
      const seen = { runId: '', pending: [] as string[], isOver: false }
      agent.subscribe({
        onEvent: () => void counts.events++,
        onRunStartedEvent: ({ event }) => void (seen.runId ||= event.runId),
        onRunFinishedEvent({ event: { outcome } }) {
          seen.pending = outcome?.type === 'success' ? (outcome.pendingToolCallIds ?? []) : []
          seen.isOver = outcome?.type === 'success' && seen.pending.length === 0
        },
        onRunErrorEvent: () => void (seen.isOver = true)
      })
      return seen
    }
    const url = `${origin}/ag-ui/${kind}/${name}`
    const thread = { url, threadId: `thread-${index}` }
    const agent = new HttpAgent({ ...thread, initialMessages: [asked] })
    const seen = follow(agent)
    await agent.runAgent({ tools, runId: `run-${index}` })
    while (!seen.isOver) {
      counts.requests++
      const resume = agent.pendingInterrupts.map((each) => answerOf(each, agent))
      counts.interrupts += resume.length
      if (resume.length === 0)
        for (const toolCallId of seen.pending) {
          counts.tools++
          const { accept, choice } = answerTo(toolCallId)
          agent.addMessage({
            id: `result of ${toolCallId}`,
            role: 'tool',
            toolCallId,
            content: `picked ${choice}`,
            ...(!accept && { error: 'no' })
          })
        }
      await agent.runAgent({ tools, ...(resume.length > 0 && { resume }) })
    }

    const { result } = (await app.runs.get(seen.runId))!
    const calls = callsOf(agent)
    t.same(
      calls.map((call) => call.name),
      result?.toolCalls.map(({ toolName }) => toolName),
      `${kind} ${name}: the same calls in the same order`
    )
    t.ok(
      calls.every((call) => call.result !== undefined),
      'each call has a result'
    )

    const late = new HttpAgent({ ...thread, initialMessages: [asked] })
    follow(late)
    const { result: structured } = await late.runAgent({ tools, runId: `run-${index}` })
    t.same(structured, result?.structured ?? undefined)
    const said = late.messages.map(({ content }) => (typeof content === 'string' ? content : ''))
    t.ok(said.join('').includes(result!.text))
    t.same(shown(late), shown(agent), 'a late reader gets the same messages')
  }
  t.comment(JSON.stringify(counts))
  t.ok(counts.interrupts > 0 && counts.tools > 0)
})

// Without the results that the client made itself, whose ids and words are its own.
function shown({ messages }: HttpAgent): unknown[] {
  return messages.filter(({ role }) => role !== 'tool')
}
