import { registerHooks } from 'node:module'
import registry, { createRegistry, defineRunnable, type RegistryPluginOptions } from '@svc/registry'
import store from '@svc/store'
import Fastify from 'fastify'

// A Node where `graphile-worker` is not installed.
registerHooks({
  resolve(specifier, context, next) {
    if (specifier === 'graphile-worker') throw new Error("Cannot find package 'graphile-worker'")
    return next(specifier, context)
  }
})

const [, , url = ''] = process.argv
const agent = { kind: 'agent', resumable: true, async *stream() {} } as const

/** What an app with these runnables and options says at its start, then at that of a queued run. */
async function tryQueue(name: string, runnables: { queue?: boolean }[], options: RegistryPluginOptions = {}) {
  const app = Fastify()
  const own = createRegistry()
  for (const fields of runnables) own.add(defineRunnable({ ...agent, name: 'echo', ...fields }))
  await app.register(store, { url, schema: 'without_queue' })
  await app.register(registry, { ...options, registry: own })
  const faults: (string | undefined)[] = []
  const note = async (work: PromiseLike<unknown>) => {
    try {
      await work
      faults.push('none')
    } catch (err) {
      const { code, cause } = err as NodeJS.ErrnoException & { cause?: NodeJS.ErrnoException }
      faults.push(code, cause?.code)
    }
  }
  await note(app.ready())
  if (faults[0] === 'none')
    await note(app.runs.start(defineRunnable({ ...agent, name: 'other' }), 'x', { queue: true }))
  await app.close()
  process.stdout.write(`${name}: ${faults.filter(Boolean).join(' ')}\n`)
}

await tryQueue('a queue', [{}], { queue: {} })
await tryQueue('an agent with a queue', [{ queue: true }])
await tryQueue('no queue', [{}])
