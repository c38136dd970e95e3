import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { scriptedRunnable } from '@svc/registry/testing'
import t from 'tap'
import { buildApp } from '../helpers/build-app.ts'
import { sendRaw } from '../helpers/event-stream.ts'

const READERS = 20
const MiB = 1_048_576

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** Bytes in use; those of array buffers are part of `external`. */
const used = () => {
  collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

t.test('readers that never read cost less than 1 MiB each', async (t) => {
  const chunk = 'x'.repeat(10_000)
  const big = scriptedRunnable(Array.from({ length: 2_000 }, () => ({ type: 'text' as const, text: chunk })))
  const { origin, runs } = await buildApp(t, { runnables: [big] })
  const run = await runs.start(big, 'x')
  await run.result()

  const before = used()
  const sockets = await Promise.all(
    Array.from({ length: READERS }, async () => {
      const socket = await sendRaw(origin, `GET /api/runs/${run.runId}/stream HTTP/1.1\r\nHost: x\r\n\r\n`)
      await once(socket, 'readable')
      return socket
    })
  )
  await pause(500)
  const each = (used() - before) / READERS
  t.ok(each < MiB, `${Math.round(each / 1024)} KiB each`)
  t.ok(sockets.every((socket) => !socket.destroyed))
  for (const socket of sockets) socket.destroy()
})
