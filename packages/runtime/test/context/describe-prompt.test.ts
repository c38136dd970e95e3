import { Type } from '@sinclair/typebox'
import { createInProcessStores, type EventMap } from '@svc/registry'
import { defineTool, type AgentOptions } from '@svc/runtime'
import t from 'tap'
import { makeAgent, makeContext } from '../helpers/make-agent.ts'

type Assembled = EventMap['context.assembled']
const look = defineTool({ name: 'look', description: 'Looks', input: Type.Object({}), execute: () => 'seen' })
const calls = { toolCalls: [{ toolName: 'look', args: {} }] }

/** The sections of the prompts of two turns of two steps each. */
async function assembled(options: Partial<AgentOptions> = {}): Promise<Assembled[]> {
  const { agent } = makeAgent([calls, 'One.', calls, 'Two.'], {
    instructions: 'SECRET instructions',
    tools: [look],
    ...options
  })
  const stores = createInProcessStores()
  const seen: Assembled[] = []
  for (const input of ['SECRET one', 'SECRET two']) {
    const { context } = makeContext({ stores, sessionId: 's' })
    context.events.on('context.assembled', (event) => void seen.push(event))
    await agent.run(input, context)
  }
  return seen
}

t.test('equal sections have equal hashes, and no text is told', async (t) => {
  const seen = await assembled()
  const hashesOf = (section: 'tools' | 'system' | 'history' | 'tail') =>
    seen.map((event) => event[section].hash)
  t.match(seen[0], { step: 0, provider: 'scripted', model: 'scripted', history: { tokens: 0 } })
  t.strictSame(
    seen.map(({ step }) => step),
    [0, 1, 0, 1]
  )
  t.equal(new Set(hashesOf('tools')).size, 1)
  t.equal(new Set(hashesOf('system')).size, 1)
  const [first, ...others] = hashesOf('history')
  t.equal(others[0], first, 'the history is that of the step before')
  t.not(others[1], first)
  t.equal(others[2], others[1])
  t.equal(new Set(hashesOf('tail')).size, 4)
  for (const { tools, system, tail } of seen) for (const { tokens } of [tools, system, tail]) t.ok(tokens > 0)
  t.notMatch(JSON.stringify(seen), 'SECRET')
})

t.test('what changes in front is told apart', async (t) => {
  let turn = 0
  const seen = await assembled({ instructions: () => `Turn ${++turn}`, cache: false })
  t.not(seen[2]?.system.hash, seen[0]?.system.hash)
  t.equal(seen[2]?.tools.hash, seen[0]?.tools.hash)
  const replaced = await assembled({ prepareStep: ({ messages }) => ({ messages: [...messages] }) })
  for (const { history } of replaced) t.equal(history.tokens, 0, 'messages of the app have no history')
})
