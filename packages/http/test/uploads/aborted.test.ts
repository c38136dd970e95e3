import { once } from 'node:events'
import { readdir, readlink } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { buildUploadApp, untilEmpty, untilFolder, type UploadApp } from '../helpers/upload-app.ts'

const head = (path: string) =>
  [
    `POST ${path} HTTP/1.1`,
    'Host: localhost',
    'Content-Type: multipart/form-data; boundary=x',
    'Content-Length: 10000000',
    '',
    '--x',
    'Content-Disposition: form-data; name="input"',
    '',
    'look',
    '--x',
    'Content-Disposition: form-data; name="files"; filename="whole.txt"',
    '',
    'whole',
    '--x',
    'Content-Disposition: form-data; name="files"; filename="cut.txt"',
    '',
    'x'.repeat(150_000)
  ].join('\r\n')

t.test('500 aborted uploads leave no file and no descriptor', { timeout: 60_000 }, async (t) => {
  const served = new Set<Socket>()
  const app = await buildUploadApp(
    t,
    {},
    {
      before: (app) =>
        app.server.on('connection', (socket) => {
          served.add(socket)
          socket.once('close', () => served.delete(socket))
        })
    }
  )
  const { folder } = app
  const before = (await openFiles()).length
  for (let batch = 0; batch < 10; batch++) {
    await Promise.all(Array.from({ length: 50 }, (_, index) => breakOff(app, batch * 50 + index)))
    await Promise.all([...served].map((socket) => once(socket, 'close')))
    await untilEmpty(folder)
  }
  const links = await openFiles()
  t.strictSame(
    links.filter((link) => link.startsWith(folder)),
    []
  )
  t.ok(links.length <= before + 5, `${before} descriptors before, ${links.length} after`)
  t.equal((await app.get('/livez')).status, 200)
})

t.test('a file being written is removed with its connection', async (t) => {
  const { origin, folder } = await buildUploadApp(t)
  for (const path of ['/up', '/api/agents/reader/run', '/api/agents/reader/stream']) {
    for (const leave of ['destroy', 'resetAndDestroy', 'end'] as const) {
      const socket = connect(Number(new URL(origin).port), '127.0.0.1')
      socket.on('error', () => {}).resume()
      socket.write(head(path))
      await untilFolder(folder, (names) => names.length === 1)
      const [directory] = await readdir(folder)
      await untilFolder(join(folder, directory!), (names) => names.length === 2)
      socket[leave]()
      await untilEmpty(folder)
    }
  }
  t.strictSame(await readdir(folder), [])
})

t.test('a stalled upload does not keep the app from closing', async (t) => {
  const { app, origin, folder } = await buildUploadApp(t)
  const socket = connect(Number(new URL(origin).port), '127.0.0.1')
  socket.on('error', () => {}).resume()
  socket.write(head('/up'))
  await untilFolder(folder, (names) => names.length === 1)
  await app.close()
  await untilEmpty(folder)
  t.strictSame(await readdir(folder), [])
})

// At another place each time, politely or not.
async function breakOff({ origin }: UploadApp, turn: number): Promise<void> {
  const socket = connect(Number(new URL(origin).port), '127.0.0.1')
  socket.on('error', () => {}).resume()
  const text = head(turn % 2 === 0 ? '/up' : '/api/agents/reader/run')
  const part = turn % 5 === 0 ? text.slice(0, 150 + turn) : text.slice(0, text.length - turn * 100)
  await new Promise((resolve) => socket.write(part, resolve))
  if (turn % 3 === 0) socket.resetAndDestroy()
  else if (turn % 3 === 1) socket.destroy()
  else socket.end()
  await once(socket, 'close')
}

async function openFiles(): Promise<string[]> {
  const links = await Promise.all(
    (await readdir('/proc/self/fd')).map((name) => readlink(`/proc/self/fd/${name}`).catch(() => ''))
  )
  return links.filter((link) => link !== '')
}
