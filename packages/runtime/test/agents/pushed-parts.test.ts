import {
  createContext,
  createRunEngine,
  defineRunnable,
  type PushedParts,
  type RunContext,
  type RunInput,
  type Runnable,
  type RunnableDefinition,
  type YieldedPart
} from '@svc/registry'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import t from 'tap'
import { makeAgent } from '../helpers/make-agent.ts'

const words = ['one ', 'two ', 'three ']

async function typesOf(agent: Runnable | RunnableDefinition): Promise<string[]> {
  const engine = createRunEngine()
  const run = await engine.start(defineRunnable(agent), 'Count')
  const parts = await Array.fromAsync(run.parts())
  await engine.close()
  return parts.map((part) => (part.type === 'text' ? part.text : part.type))
}

t.test('a run has the same parts whether they are pushed or pulled', async (t) => {
  const { agent } = makeAgent({ text: words })
  const pushed = await typesOf(agent)
  const pulled: YieldedPart[] = await Array.fromAsync(agent.stream('Count'))
  t.same(
    pushed.slice(1),
    pulled.map((part) => (part.type === 'text' ? part.text : part.type))
  )
  t.same(pushed, ['start', 'step.start', ...words, 'step', 'finish'])
})

async function* shout(parts: AsyncIterable<YieldedPart>) {
  for await (const part of parts)
    yield part.type === 'text' ? { ...part, text: part.text.toUpperCase() } : part
}

t.test('a runnable that wraps the stream of an agent sees every part', async (t) => {
  const { agent } = makeAgent({ text: words })
  const types = await typesOf({
    kind: 'agent',
    name: 'shouting',
    stream: (input, context) => shout(agent.stream(input, context))
  })
  t.same(types.slice(2, -2), ['ONE ', 'TWO ', 'THREE '])
})

t.test('a subclass that wraps its parts sees every part, also if they would be pushed', async (t) => {
  class Shouting extends Agent {
    protected override execute(input: RunInput, context: RunContext) {
      return shout(super.execute(input, context))
    }
  }
  const model = scriptedModel([{ text: words }, { text: words }])
  const agent = new Shouting({ name: 'shouting', model, register: false })
  t.same((await typesOf(agent)).slice(2, -2), ['ONE ', 'TWO ', 'THREE '])
  t.equal(await agent.stream('Count').result.then(({ text }) => text), 'ONE TWO THREE ')
})

t.test('nothing runs ahead of a reader that pulls, and leaving ends the run', async (t) => {
  const { agent, model } = makeAgent({ text: words, delay: 1 })
  for await (const part of agent.stream('Count')) if (part.type === 'text') break
  t.equal(model.calls[0]?.abortSignal?.aborted, true)
  const unread = agent.stream('Count')
  t.same(await unread.return(), { done: true, value: undefined })
  t.same(await unread.next(), { done: true, value: undefined })
  t.equal(model.calls.length, 1)
})

t.test('an error of the sink is no failure of the model', async (t) => {
  const { agent, model } = makeAgent([{ text: words }, { text: words }], {
    retry: { attempts: 3, baseDelay: 1 }
  })
  // As an engine runs it.
  const context = createContext().child('counting', { reported: agent })
  const stream = agent.stream('Count', context) as unknown as PushedParts
  const full = new Error('full')
  const pushing = stream.pushTo((part) => {
    if (part.type === 'text') throw full
    return undefined
  })
  await t.rejects(pushing, full)
  t.equal(model.calls.length, 1)
})
