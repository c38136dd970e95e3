import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Worker } from 'node:worker_threads'
import { scriptedRunnable } from '@svc/testing'
import t from 'tap'
import { buildApp } from '../helpers/build-app.ts'

const READERS = 20
const MiB = 1_048_576

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** Bytes in use once all garbage is gone; those of array buffers are part of `external`. */
async function used(): Promise<number> {
  let least = Infinity
  for (let i = 0; i < 5; i++) {
    collectGarbage()
    await pause(50)
    const { heapUsed, external } = process.memoryUsage()
    least = Math.min(least, heapUsed + external)
  }
  return least
}

/** Clients that ask and never read, on a thread of their own so that their memory is not counted. */
const clients = `
  const { connect } = require('node:net')
  const { workerData: { host, port, path, count }, parentPort } = require('node:worker_threads')
  parentPort.on('message', () => {}) // keeps the thread alive
  let open = 0
  for (let i = 0; i < count; i++) {
    const socket = connect({ host, port }, () => {
      socket.write('GET ' + path + ' HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n')
      if (++open === count) parentPort.postMessage('open')
    })
    socket.on('error', () => {})
  }
`

t.test('clients that never read cost less than 1 MiB each', async (t) => {
  const chunk = 'x'.repeat(10_000)
  const big = scriptedRunnable(Array.from({ length: 2_000 }, () => ({ type: 'text' as const, text: chunk })))
  const { app, origin, runs } = await buildApp(t, { runnables: [big] })
  const run = await runs.start(big, 'x')
  await run.result()
  let requests = 0
  const served = Promise.withResolvers<void>()
  app.server.on('request', () => {
    if (++requests === READERS) served.resolve()
  })

  const before = await used()
  const { hostname: host, port } = new URL(origin)
  const path = `/api/runs/${run.runId}/stream`
  const worker = new Worker(clients, {
    eval: true,
    workerData: { host, port: Number(port), path, count: READERS }
  })
  t.teardown(() => worker.terminate())
  await Promise.all([once(worker, 'message'), served.promise])
  await pause(500)
  const open = await promisify(app.server.getConnections.bind(app.server))()
  const each = ((await used()) - before) / READERS
  t.equal(requests, READERS)
  t.equal(open, READERS)
  t.ok(each > 0 && each < MiB, `${Math.round(each / 1024)} KiB each`)
})
