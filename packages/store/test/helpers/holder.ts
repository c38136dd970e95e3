import { writeSync } from 'node:fs'
import { createRunEngine } from '@svc/registry'
import { codeOf, scriptedRunnable } from '@svc/testing'
import { createStore } from '@svc/store'

// Starts as a service does and runs something without end; says which run, or why it cannot start.
const [, , url = ''] = process.argv
const code = await codeOf(async () => {
  const engine = createRunEngine({ stores: await createStore({ url }) })
  await engine.recover()
  const run = await engine.start(scriptedRunnable([{ type: 'text', text: 'a' }, 600_000]), 'x')
  writeSync(1, `${run.runId}\n`)
})
if (code !== 'none') writeSync(1, `${String(code)}\n`)
