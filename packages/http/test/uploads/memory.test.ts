import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { untilEmpty, useTempFolder } from '../helpers/upload-app.ts'

const MiB = 1_048_576
const FILES = 10
const CHUNK = Buffer.alloc(MiB, 'text ')

t.test('ten files of 40 MiB cost at most 64 MiB of memory', { timeout: 60_000 }, async (t) => {
  const folder = await useTempFolder(t)
  const child = fork(fileURLToPath(new URL('../helpers/upload-server.ts', import.meta.url)), {
    execArgv: ['--conditions=@svc/source'],
    env: { ...process.env, TMPDIR: folder }
  })
  t.teardown(() => child.kill('SIGKILL'))
  const tell = async <T>(): Promise<T> => ((await once(child, 'message')) as [T])[0]
  const measure = () => {
    const answer = tell<{ rss: number; peak: number }>()
    child.send('measure')
    return answer
  }
  const { origin } = await tell<{ origin: string }>()
  const upload = async (path: string, size: number) => {
    const response = await fetch(origin + path, {
      method: 'POST',
      headers: { 'content-type': 'multipart/form-data; boundary=x' },
      body: form(size) as never,
      duplex: 'half'
    } as RequestInit)
    t.equal(response.status, 200)
    return response.json()
  }
  for (const path of ['/up', '/api/agents/sizes/run']) {
    // Code that is compiled, and a heap that takes its size, by the first requests are not what is measured.
    // Code that is compiled, and a heap that takes its size, by the first request are not what is measured.
    await upload(path, 4)
    const { rss } = await measure()
    const answer = await upload(path, 40)
    const sizes = Array.from({ length: FILES }, () => 40 * MiB)
    t.match(answer, path === '/up' ? sizes : { text: `${sizes.join(' ')} ` })
    const { peak } = await measure()
    const rise = (peak - rss) / MiB
    t.ok(rise <= 64, `memory rises by ${rise.toFixed(1)} MiB on ${path}`)
    t.comment(`${path}: ${rise.toFixed(1)} MiB`)
    await untilEmpty(folder)
  }
  child.send('stop')
  await once(child, 'exit')
})

async function* form(size: number): AsyncGenerator<Buffer> {
  for (let file = 0; file < FILES; file++) {
    yield Buffer.from(`--x\r\nContent-Disposition: form-data; name="files"; filename="${file}.txt"\r\n\r\n`)
    for (let chunk = 0; chunk < size; chunk++) yield CHUNK
    yield Buffer.from('\r\n')
  }
  yield Buffer.from('--x--\r\n')
}
