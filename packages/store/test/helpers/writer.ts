import { writeSync } from 'node:fs'
import { createStore } from '@svc/store'
import { storedRun, textEntry } from '@svc/testing'

// Appends without end and says what is acknowledged, until it is killed.
const [, , url = ''] = process.argv
const store = await createStore({ url })
const run = storedRun()
await store.runs.create(run)
writeSync(1, `${run.runId}\n`)
for (let seq = 1; ; seq++) {
  await store.log.append(run.runId, 1, [textEntry(seq)], seq === 1 ? { status: 'working', at: 2 } : undefined)
  writeSync(1, `${seq}\n`)
}
