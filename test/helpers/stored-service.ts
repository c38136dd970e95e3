import { rmSync, writeFileSync } from 'node:fs'
import http from '@svc/http'
import { globalRegistry } from '@svc/registry'
import { scriptedRunnable } from '@svc/testing'
import { Workflow } from '@svc/runtime'
import store from '@svc/store'
import Fastify from 'fastify'

// A service on a database, which logs its address. `filler` is the path of files that fill up its disk.
const [, , url = '', filler = ''] = process.argv
const gates = new Map<string, PromiseWithResolvers<void>>()
const pass = (name: string) => {
  const gate = gates.get(name) ?? Promise.withResolvers<void>()
  gates.set(name, gate)
  return gate.promise
}
const request = { toolCallId: 'c', toolName: 'send', args: { to: 'ada' } }

globalRegistry.add(scriptedRunnable([{ type: 'text', text: 'hello' }], { name: 'quick' }))
globalRegistry.add(
  scriptedRunnable(
    [
      { type: 'text', text: 'a' },
      () => pass('slow'),
      { type: 'text', text: 'b' },
      50,
      { type: 'text', text: 'c' },
      50,
      { type: 'text', text: 'd' }
    ],
    { name: 'slow' }
  )
)
globalRegistry.add(
  scriptedRunnable([({ approvals }) => approvals.request(request), { type: 'text', text: 'sent' }], {
    name: 'asking'
  })
)
let steps = 0
new Workflow({
  name: 'steps',
  steps: (flow) =>
    flow
      .step('first', () => `first ${++steps}`)
      // The input names the gate to wait for.
      .step('second', async ({ input }) => {
        await pass(input as string)
        return 'second'
      })
      .wait('ok', { approval: {} })
      .step('last', ({ steps: done }) => `${done.first}, ${done.second}`)
})

const app = Fastify({ logger: true })
await app.register(store, { url })
await app.register(http, { prefix: '/api' })
app.post<{ Params: { name: string } }>('/open/:name', async ({ params }) => {
  void pass(params.name)
  gates.get(params.name)!.resolve()
  return 'open'
})
app.post('/fill', async () => {
  // Fill the rest of the disk.
  for (let size = 1_048_576, at = 0; size >= 1; size >>= 1)
    for (let isFull = false; !isFull; at++) isFull = !write(`${filler}-${at}`, size)
  return 'full'
})
app.post('/free', async () => {
  rmSync(`${filler}-0`)
  return 'free'
})
await app.listen({ port: 0, host: '127.0.0.1' })
process.once('SIGTERM', () => void app.close())

function write(path: string, size: number): boolean {
  try {
    writeFileSync(path, Buffer.alloc(size))
    return true
  } catch {
    return false
  }
}
