import { writeSync } from 'node:fs'
import { storedRun } from '@svc/testing'
import { createStore } from '@svc/store'

// Keeps files and says which, then writes one without end, until it is killed.
const [, , url = ''] = process.argv
const store = await createStore({ url })
const { runId } = storedRun()
await store.runs.create({ ...storedRun(), runId })
writeSync(1, `${runId}\n`)
for (let index = 0; index < 5; index++) {
  const { fileId } = await store.files.put(runId, { mimeType: 'a/b', content: Buffer.alloc(300_000, index) })
  writeSync(1, `${fileId}\n`)
}
await store.files.put(runId, {
  mimeType: 'a/b',
  content: (async function* () {
    for (;;) {
      yield Buffer.alloc(10_000)
      // The store asks for more once it has written this.
      writeSync(1, 'writes\n')
    }
  })()
})
