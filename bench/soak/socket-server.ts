import gateway from '@svc/gateway'
import registry, { createRegistry } from '@svc/registry'
import Fastify from 'fastify'
import { heapInUse } from './finding.ts'

// A gateway with its default limits, for those who have a token, until its process is killed.
const app = Fastify({ forceCloseConnections: true })
await app.register(registry, { registry: createRegistry() })
await app.register(gateway, {
  authenticate: ({ token }) => (token === 'good' ? { sub: 'ann', scopes: ['*'] } : null)
})
app.get('/memory', () => ({ held: heapInUse(), resident: process.memoryUsage().rss }))
console.log(await app.listen({ port: 0, host: '127.0.0.1' }))
