import { randomBytes } from 'node:crypto'
import { readdir, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { RunResult } from '@svc/registry'
import store from '@svc/store'
import t from 'tap'
import { buildApp } from '../helpers/build-app.ts'
import { makerOf } from '../helpers/file-maker.ts'

const MiB = 1_048_576
const content = randomBytes(20 * MiB)
const skip = process.platform !== 'linux' && 'only Linux lists the open files of a process'

/** The number of open files in a folder. */
async function openIn(folder: string): Promise<number> {
  const paths = (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => ''))
  return (await Promise.all(paths)).filter((path) => path.startsWith(folder)).length
}

t.test(
  'a large file from a folder: ranges, clients that leave, and a removal meanwhile',
  { skip },
  async (t) => {
    const folder = t.testdir()
    const app = await buildApp(t, {
      runnables: [makerOf({ mimeType: 'application/zip', content })],
      before: (it) => it.register(store, { url: `sqlite:${join(folder, 'runs.db')}` })
    })
    const { runId, files } = (await (await app.post('/agents/maker/run', { input: 'x' })).json()) as RunResult
    const path = `/runs/${runId}/files/${files?.[0]?.fileId}`
    const idle = await openIn(folder)

    const middle = await fetch(app.url + path, { headers: { range: `bytes=${5 * MiB - 1}-${15 * MiB}` } })
    t.equal(middle.headers.get('content-range'), `bytes ${5 * MiB - 1}-${15 * MiB}/${20 * MiB}`)
    t.ok(Buffer.from(await middle.arrayBuffer()).equals(content.subarray(5 * MiB - 1, 15 * MiB + 1)))
    const whole = await fetch(app.url + path)
    t.ok(Buffer.from(await whole.arrayBuffer()).equals(content))

    for (let i = 0; i < 20; i++) {
      const client = new AbortController()
      const response = await fetch(app.url + path, { signal: client.signal })
      await response.body!.getReader().read()
      client.abort()
    }
    while ((await openIn(folder)) > idle) await setImmediate()
    t.equal(await openIn(folder), idle, 'no file stays open')

    const reader = (await fetch(app.url + path)).body!.getReader()
    let size = (await reader.read()).value!.length
    await app.runs.stores.runs.remove(runId)
    t.equal((await app.get(path)).status, 404)
    for (let next = await reader.read(); !next.done; next = await reader.read()) size += next.value.length
    t.equal(size, content.length, 'a reader that has begun gets all of it')
    while ((await openIn(folder)) > idle) await setImmediate()
  }
)
