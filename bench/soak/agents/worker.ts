import { writeSync } from 'node:fs'
import a2a from '@svc/a2a'
import gateway from '@svc/gateway'
import http from '@svc/http'
import registryPlugin, { createRegistry } from '@svc/registry'
import store from '@svc/store'
import Fastify from 'fastify'
import { Ledger } from './ledger.ts'
import { addPlannedRunnables } from './planned-runnables.ts'

// A service of agents on every surface, until it is killed or its parent is gone. It says its address.
process.stdin.resume().once('end', () => process.exit())
const [, , url = '', ledger = '', pace = ''] = process.argv
const registry = createRegistry()
addPlannedRunnables(registry, new Ledger(ledger), Number(pace))
const app = Fastify()
await app.register(store, { url })
await app.register(registryPlugin, { registry, limits: { maxRuns: 10_000 } })
await app.register(http, { prefix: '/api', clientTools: true })
await app.register(gateway, { clientTools: true, limits: { runs: 1_000, eventsPerSecond: 1_000 } })
await app.register(a2a, { basePath: '/a2a', registry })
writeSync(1, `${await app.listen({ port: 0, host: '127.0.0.1' })}\n`)
