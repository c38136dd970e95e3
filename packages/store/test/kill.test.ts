import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createInterface } from 'node:readline'
import { createRunEngine } from '@svc/registry'
import { createStore } from '@svc/store'
import t from 'tap'

const writer = new URL('helpers/writer.ts', import.meta.url).pathname

t.test('acknowledged writes survive kill -9, and no run stays active', async (t) => {
  const file = join(t.testdir(), 'kill.db')
  for (const acknowledged of [1, 40, 200]) {
    const child = spawn(process.execPath, ['--conditions=@svc/source', writer, `sqlite:${file}`], {
      stdio: ['ignore', 'pipe', 'inherit']
    })
    const lines: string[] = []
    const closed = once(child, 'close')
    for await (const line of createInterface({ input: child.stdout })) {
      if (lines.push(line) === acknowledged) child.kill('SIGKILL')
    }
    await closed
    const [runId = '', ...seqs] = lines
    const store = await createStore({ url: `sqlite:${file}` })
    const engine = createRunEngine({ stores: store })
    t.equal(await engine.recover(), 1)
    const seen: string[] = []
    for await (const part of engine.parts(runId)) seen.push(part.type)
    t.ok(seen.length > seqs.length, `${seqs.length} acknowledged, ${seen.length - 1} there`)
    t.equal(seen.at(-1), 'error')
    t.match(await engine.get(runId), { status: 'failed', error: { code: 'RUN_ERR_INTERRUPTED' } })
    await engine.close()
    await store.close()
    const database = new DatabaseSync(file)
    t.match(database.prepare('pragma integrity_check').all(), [{ integrity_check: 'ok' }])
    database.close()
  }
})
