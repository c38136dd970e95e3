import { writeSync } from 'node:fs'
import { createRegistry, createRunEngine } from '@svc/registry'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import { createStore } from '@svc/store'

// Starts runs without end, which end with their process, and says the id of each one that is acknowledged, until it is killed.
const [, , url = ''] = process.argv
const engine = createRunEngine({ stores: await createStore({ url }) })
const agent = new Agent({
  name: 'worker',
  model: scriptedModel({ text: ['one ', 'two ', 'three '], delay: 2 }, { record: false }),
  registry: createRegistry()
})
for (;;) {
  const started = await Promise.all(
    [1, 2, 3, 4].map(() => engine.start(agent, 'Work.', { onDisconnect: 'cancel' }))
  )
  for (const run of started) writeSync(1, `${run.runId}\n`)
  await Promise.race(started.map((run) => run.result()))
}
