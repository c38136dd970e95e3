import { setImmediate as turn } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import { createInProcessStores, createRunEngine } from '@svc/registry'
import {
  Agent,
  defineTool,
  EVENT_SCHEMAS,
  recallMemory,
  windowMemory,
  type RuntimeEvents
} from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import t from 'tap'
import { settleMemories } from '../../src/memory/run-memory.ts'

const RUNS = 2_000
const MARKERS = { ann: 'APRICOT', bob: 'BLUEBERRY' } as const
type Name = keyof typeof MARKERS

// The model echoes its prompt, so a leaked marker appears in every output.
const echo = defineTool({
  name: 'echo',
  description: 'Says it again',
  input: Type.Object({ text: Type.String() }),
  execute: async ({ text }, { principal }) => {
    await turn()
    return `${text} for ${principal.sub}`
  }
})

t.test('2,000 interleaved runs of two principals never mix', { timeout: 120_000 }, async (t) => {
  const model = scriptedModel(
    ({ prompt }) => {
      const seen = JSON.stringify(prompt)
      const words = Object.values(MARKERS).filter((word) => seen.includes(word))
      if (prompt.at(-1)?.role === 'user')
        return { toolCalls: [{ toolName: 'echo', args: { text: words.join(' ') } }] }
      return { text: [`I saw ${words.join(' and ')}.`] }
    },
    { record: false }
  )
  const window = windowMemory()
  const recall = recallMemory()
  const memory: typeof window = {
    retrieve: async (context, input) =>
      [await window.retrieve(context, input), await recall.retrieve(context, input)].join('\n'),
    store: async (context, said) => [
      ...(await window.store(context, said)),
      ...(await recall.store(context, said))
    ]
  }
  const stores = createInProcessStores()
  const engine = createRunEngine({ stores, limits: { maxRuns: RUNS, maxRunsPerOwner: RUNS } })
  t.teardown(() => engine.close())
  const agent = new Agent({
    name: 'shared',
    model,
    tools: [echo],
    memory,
    register: false,
    history: { maxMessages: 20 }
  })

  const owners = new Map<string, Name>()
  const crossed: unknown[] = []
  const check = (owner: Name, what: unknown) => {
    const other = owner === 'ann' ? MARKERS.bob : MARKERS.ann
    if (JSON.stringify(what).includes(other)) crossed.push(what)
  }
  let events = 0
  for (const name of Object.keys(EVENT_SCHEMAS) as (keyof RuntimeEvents)[])
    engine.events.on(name, (event) => {
      const owner = owners.get(event.runId)
      if (owner === undefined) return
      events++
      check(owner, event)
    })

  let said = 0
  const one = async (n: number) => {
    const sub: Name = n % 2 === 0 ? 'ann' : 'bob'
    const run = await engine.start(agent, `The marker ${MARKERS[sub]} number ${n}`, {
      principal: { sub, scopes: [] },
      // Both principals use the same ids: only the owner separates them.
      sessionId: `session-${Math.floor(n / 2) % 50}`
    })
    owners.set(run.runId, sub)
    for await (const part of run.parts()) check(sub, part)
    const result = await run.result()
    check(sub, result)
    if (result.text.includes(MARKERS[sub])) said++
  }
  for (let from = 0; from < RUNS; from += 200)
    await Promise.all(Array.from({ length: 200 }, (_, n) => one(from + n)))
  await settleMemories(10_000)

  for (const owner of ['ann', 'bob'] as const) {
    for (let n = 0; n < 50; n++)
      check(
        owner,
        await stores.sessions.load(
          { registry: 'global', owner, kind: 'agent', name: 'shared', sessionId: `session-${n}` },
          1_000
        )
      )
    for (const namespace of ['shared', 'shared/window']) {
      const items = await stores.memory.list(owner, namespace, 10_000)
      t.ok(items.length >= 10, `${owner} ${namespace}: ${items.length}`)
      check(owner, items)
    }
  }
  t.strictSame(crossed.slice(0, 3), [])
  t.equal(said, RUNS, 'every answer has its own marker')
  t.ok(events > RUNS * 8, `${events} events were looked at`)
})
