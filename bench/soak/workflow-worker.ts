import { appendFileSync, writeSync } from 'node:fs'
import { createRunEngine } from '@svc/registry'
import { Workflow } from '@svc/runtime'
import { createStore } from '@svc/store'

// Resumes the work of the previous process, then runs workflows without end, or not at all, until it is killed. Every
// step records its start in a file.
const [, , url = '', effects = '', last] = process.argv
const act =
  (name: string, ms = 6) =>
  async ({ idempotencyKey }: { idempotencyKey: string }) => {
    appendFileSync(effects, `${idempotencyKey}\n`)
    await new Promise((resolve) => setTimeout(resolve, ms))
    return name
  }
const workflow = new Workflow({
  name: 'killed',
  register: false,
  steps: (flow) =>
    flow
      .step('a', act('a'))
      .parallel('p', (inner) => ({ l: inner.step('l', act('l')), r: inner.step('r', act('r', 12)) }))
      .step('s', act('s'))
      .loop('x', (inner) => inner.step('b', act('b')).step('c', act('c')), {
        until: ({ index }) => index === 1
      })
      .map(
        'm',
        () => [1, 2, 3],
        (inner) => inner.step('d', act('d')),
        { concurrency: 2 }
      )
      .wait('w', { sleep: 6 })
      .step('e', act('e'))
      .step('end', ({ steps }) => [steps.a, steps.p, steps.m, steps.e].flat())
})

const store = await createStore({ url })
const engine = createRunEngine({ stores: store })
await engine.recover()
const { runs: left } = await store.runs.listLeft({ limit: 1_000 })
await engine.resume(workflow)
writeSync(1, 'up\n')
for (const { runId } of left) for await (const _ of engine.parts(runId));
while (last === undefined) {
  const run = await engine.start(workflow, 'Go.')
  writeSync(1, `${run.runId}\n`)
  await run.result()
}
await engine.close()
await store.close()
