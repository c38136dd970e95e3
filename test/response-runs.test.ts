import { join } from 'node:path'
import openAi from '@svc/openai'
import registryPlugin, { createRegistry } from '@svc/registry'
import Fastify from 'fastify'
import OpenAI from 'openai'
import type { Response, ResponseInputItem, ResponseStreamEvent } from 'openai/resources/responses/responses'
import t from 'tap'
import { Ledger } from '../bench/soak/agents/ledger.ts'
import { answerTo } from '../bench/soak/agents/plan.ts'
import { addPlannedRunnables } from '../bench/soak/agents/planned-runnables.ts'
import { randomJob } from '../bench/soak/agents/random-plan.ts'
import { Random } from '../bench/soak/random.ts'

const RUNS = 60
const PICK = {
  type: 'function',
  name: 'pick',
  description: 'Picks one',
  parameters: { type: 'object', properties: { key: { type: 'string' } } },
  strict: false
} as const

t.setTimeout(300_000)

/** What a client gives for all that a response asks for. */
function answersTo({ output }: Response): ResponseInputItem[] {
  return output.flatMap((item): ResponseInputItem[] => {
    if (item.type === 'mcp_approval_request') {
      const { key } = JSON.parse(item.arguments) as { key: string }
      return [{ type: 'mcp_approval_response', approval_request_id: item.id, approve: answerTo(key).accept }]
    }
    if (item.type !== 'function_call') return []
    const isQuestion = item.name === 'question'
    if (!isQuestion && item.name !== 'pick') return []
    const { message = '' } = JSON.parse(item.arguments) as { message?: string }
    const { accept, choice } = answerTo(isQuestion ? /for (.*)\?/.exec(message)![1]! : item.call_id)
    const said = isQuestion ? JSON.stringify({ choice }) : `picked ${choice}`
    const status = accept ? 'completed' : 'incomplete'
    return [{ type: 'function_call_output', call_id: item.call_id, output: said, status }]
  })
}

t.test('random runs of agents, teams and workflows, as the client of OpenAI sees them', async (t) => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1e9)
  t.comment(`SEED=${seed}`)
  const random = new Random(seed)
  const registry = createRegistry()
  addPlannedRunnables(registry, new Ledger(join(t.testdir(), 'ledger')), 0)
  const app = Fastify({ forceCloseConnections: true })
  await app.register(registryPlugin, { registry })
  await app.register(openAi, { prefix: '/v1', clientTools: true })
  const baseURL = `${await app.listen({ port: 0, host: '127.0.0.1' })}/v1`
  t.teardown(() => app.close())
  const openai = new OpenAI({ baseURL, apiKey: 'none', maxRetries: 0 })
  const counts = { events: 0, waits: 0 }

  for (let index = 0; index < RUNS; index++) {
    const { kind, name, plan } = randomJob(random, `run-${index}`)
    const model = `${kind}/${name}`
    const input = JSON.stringify(plan)
    const tools = input.includes('"pick"') ? [PICK] : []
    const responses: Response[] = []
    for (;;) {
      const last = responses.at(-1)
      const answers = last === undefined ? [] : answersTo(last)
      if (last !== undefined && answers.length === 0) break
      const asked =
        last === undefined ? { input, tools } : { input: answers, tools, previous_response_id: last.id }
      const stream = openai.responses.stream({ model, ...asked })
      const events: ResponseStreamEvent[] = []
      stream.on('event', (event) => events.push(event))
      const response = await stream.finalResponse()
      responses.push(response)
      counts.events += events.length
      if (last !== undefined) counts.waits++
      const replayed: ResponseStreamEvent[] = []
      for await (const event of await openai.responses.retrieve(response.id, { stream: true }))
        replayed.push(event)
      t.same(
        replayed.map(withoutParameters),
        events.map(withoutParameters),
        'a late reader gets the same events'
      )
    }

    const runId = responses[0]!.id.slice('resp_'.length)
    const { result } = (await app.runs.get(runId))!
    const items = responses.flatMap(({ output }) => output)
    const last = responses.at(-1)!.output.findLast(({ type }) => type === 'message')
    t.ok(last === undefined || result!.text.endsWith(textOf(last)), `${kind} ${name}`)
    const calls = items.flatMap((item) => {
      const isCall = item.type === 'mcp_call' || item.type === 'function_call'
      return isCall && item.name !== 'question' ? [item.name] : []
    })
    // A call that waits stands in the response in which it ends.
    t.same(calls.toSorted(), result?.toolCalls.map(({ toolName }) => toolName).toSorted(), 'the same calls')
    t.equal(responses.at(-1)!.status, 'completed')
  }
  t.comment(JSON.stringify(counts))
  t.ok(counts.waits > 0)
})

function textOf(item: Response['output'][number]): string {
  if (item.type !== 'message') return ''
  return item.content.map((part) => (part.type === 'output_text' ? part.text : '')).join('')
}

// Only the reply to a request repeats its parameters.
function withoutParameters(event: ResponseStreamEvent): unknown {
  if (!('response' in event)) return event
  const { tools: _, ...response } = event.response as Response & { parsed?: unknown }
  return { ...event, response }
}
