import { createEventBus } from '@svc/registry'
import { defineTool, type AgentOptions } from '@svc/runtime'
import Fastify, { type FastifyBaseLogger } from 'fastify'
import { Type } from '@sinclair/typebox'
import t from 'tap'
import { collect, makeAgent, makeContext } from './helpers/make-agent.ts'

/** The error of an HTTP client, which contains the failed request. */
const leaky = () =>
  Object.assign(new Error('Request failed with status code 401'), {
    config: { headers: { Authorization: 'Bearer s3cret-of-the-service' } }
  })
const fail = () => Promise.reject(leaky())

/** A Fastify logger, and its output. */
function makeLog(): { log: FastifyBaseLogger; written: () => string } {
  const lines: string[] = []
  const { log } = Fastify({ logger: { level: 'trace', stream: { write: (line) => void lines.push(line) } } })
  return { log, written: () => lines.join('') }
}

const tool = (more: object = {}) =>
  defineTool({ name: 'call', description: '', input: Type.Object({}), execute: fail, ...more })
const sites: Record<string, [message: string, options: Partial<AgentOptions>]> = {
  'a tool that throws': ['tool failed', { tools: [tool()] }],
  'an approval that cannot be decided': ['approval policy failed', { tools: [tool({ approval: fail })] }],
  'a memory that cannot retrieve': [
    'memory retrieval failed',
    { memory: { retrieve: fail, store: async () => [] } }
  ],
  'a memory that cannot store': [
    'memory write failed',
    { memory: { retrieve: async () => undefined, store: fail } }
  ]
}

for (const [what, [message, options]] of Object.entries(sites)) {
  t.test(`${what}: the log has the error, without the request behind it`, async (t) => {
    const { log, written } = makeLog()
    const script = options.tools === undefined ? 'Hi.' : [{ toolCalls: [{ toolName: 'call' }] }, 'Sorry.']
    const { agent, model } = makeAgent(script as never, options)
    const events = createEventBus()
    const failed = new Promise((resolve) => events.on('memory.error', resolve))
    const run = await collect(agent.stream('Go', makeContext({ log, events }).context))
    if (options.memory !== undefined) await failed
    t.equal(run.error, undefined)
    t.match(written(), message)
    t.match(written(), 'Request failed with status code 401')
    t.match(written(), 'logged-errors.test', 'with its stack')
    t.notMatch(written(), 's3cret')
    t.notMatch(JSON.stringify([run.parts, model.calls.map(({ prompt }) => prompt)]), 's3cret')
  })
}
