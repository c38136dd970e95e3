import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createStore } from '@svc/store'
import t from 'tap'

const WORD = 'a-removed-word '

for (const secureDelete of [true, false])
  t.test(`what is removed is ${secureDelete ? 'overwritten' : 'left in free pages'}`, async (t) => {
    const file = join(t.testdir(), 'app.db')
    const { sessions, close } = await createStore({ url: `sqlite:${file}`, secureDelete })
    const key = { registry: 'global', kind: 'agent', name: 'a', owner: 'ada' } as const
    for (const sessionId of ['gone', 'kept']) {
      const content = (sessionId === 'gone' ? WORD : 'other ').repeat(2_000)
      for (let turn = 0; turn < 9; turn++)
        await sessions.append({ ...key, sessionId }, `r${turn}`, [{ role: 'user', content }])
    }
    await sessions.remove({ ...key, sessionId: 'gone' })
    await close()
    const has = (word: string) => readFileSync(file, 'latin1').includes(word)
    t.equal(has(WORD), !secureDelete)
    t.ok(has('other '))
    const database = new DatabaseSync(file)
    t.equal(database.prepare('pragma integrity_check').get()!['integrity_check'], 'ok')
    database.close()
  })
