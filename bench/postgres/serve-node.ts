import http from '@svc/http'
import registry, { createRegistry } from '@svc/registry'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import store from '@svc/store'
import Fastify from 'fastify'
import { ANSWER } from '../quick.ts'

// A node of a service for one owner, with stores in memory if the URL is empty. It says its address.
const [url = '', schema = 'public', owner = 'anonymous'] = process.argv.slice(3)
const agents = createRegistry()
const model = scriptedModel(ANSWER, { record: false })
new Agent({ name: 'quick', instructions: 'Be brief.', model, registry: agents })
const app = Fastify()
if (url !== '') await app.register(store, { url, ...(url.startsWith('postgres:') && { schema }) })
await app.register(registry, {
  registry: agents,
  queue: {},
  limits: { maxRuns: 10_000, maxRunsPerOwner: 10_000 },
  authenticate: () => ({ sub: owner, scopes: [] })
})
await app.register(http, { prefix: '/api' })
console.log(await app.listen({ port: 0, host: '127.0.0.1' }))
