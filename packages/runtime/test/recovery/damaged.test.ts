import { Type } from '@sinclair/typebox'
import { createInProcessStores, createRunEngine, type Stores } from '@svc/registry'
import { Agent, defineTool } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import t from 'tap'

const SHAPES = [undefined, null, {}, [], 'text', 5, { answer: {} }, { answer: { content: [] } }]

/** Stores that give something else than what was recorded under a key. */
function damaged(stores: Stores, key: string, output: unknown): Stores {
  const { runs } = stores
  const readStep: typeof runs.readStep = async (runId, step) => {
    const found = await runs.readStep(runId, step)
    return found && step.includes(key) ? { output } : found
  }
  return { ...stores, runs: { ...runs, readStep } }
}

for (const key of ['#step 0', '#call paid'])
  t.test(`a run whose ${key} has another shape fails, and repeats nothing`, async (t) => {
    for (const shape of SHAPES) {
      let paid = 0
      const Empty = Type.Object({})
      const pay = defineTool({ name: 'pay', description: 'Pays', input: Empty, execute: () => ++paid })
      const ask = defineTool({
        name: 'ask',
        description: 'Asks',
        input: Empty,
        execute: (_, context) => context.ask({ message: 'Which?' })
      })
      const toolCalls = [
        { toolName: 'pay', toolCallId: 'paid' },
        { toolName: 'ask', toolCallId: 'asked' }
      ]
      const model = scriptedModel(({ prompt }) => (prompt.at(-1)?.role === 'tool' ? 'done' : { toolCalls }))
      const agent = new Agent({ name: 'agent', register: false, model, tools: [pay, ask] })
      const stores = createInProcessStores()
      const first = createRunEngine({ stores, drainTimeout: 0 })
      const run = await first.start(agent, 'Hi')
      run.result().catch(() => {})
      const until = new Set(['input.request', 'tool.result'])
      for await (const { type } of run.parts()) if (until.delete(type) && until.size === 0) break
      await first.close()

      const second = createRunEngine({ stores: damaged(stores, key, shape), drainTimeout: 0 })
      await second.recover()
      await second.resume(agent)
      const types: string[] = []
      for await (const { type } of second.parts(run.runId)) {
        types.push(type)
        if (types.filter((each) => each === 'step.start').length > 1) break
      }
      const says = JSON.stringify(shape)
      t.match(await second.get(run.runId), { status: 'failed', error: { code: 'RUN_ERR_DAMAGED' } }, says)
      t.equal(types.filter((each) => each === 'tool.result').length, 1, says)
      t.strictSame([paid, model.calls.length], [1, 1], says)
      await second.close()
    }
  })
