import { machineTime } from './shift-clock.ts'
import { writeSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import a2a from '@svc/a2a'
import anthropic from '@svc/anthropic'
import gateway from '@svc/gateway'
import http from '@svc/http'
import openAiAgents from '@svc/openai/agents'
import registryPlugin, { createRegistry } from '@svc/registry'
import store from '@svc/store'
import Fastify from 'fastify'
import { watchStandstill, writeEffect } from './effects.ts'
import type { NodeOptions } from './node-options.ts'
import { addRunnables } from './runnables.ts'

// A node of a service on Postgres, until it is killed, ended by SIGTERM, or its parent is gone. It says its port.
process.stdin.resume().once('end', () => process.exit())
const { url, writer, effects, shown, log, lease, drainTimeout } = JSON.parse(process.argv[2]!) as NodeOptions
const registry = createRegistry()
const stood = watchStandstill()
addRunnables(registry, {
  shown,
  act: (key, kind) => writeEffect(effects, { key, kind, writer, at: machineTime(), stood: stood() })
})
const app = Fastify({ logger: { level: 'warn', file: log }, return503OnClosing: false })
await app.register(store, { url, lease })
await app.register(registryPlugin, {
  registry,
  drainTimeout,
  limits: { maxRuns: 10_000, maxRunsPerOwner: 10_000 },
  authenticate: ({ token }) =>
    token === undefined ? { sub: 'anonymous', scopes: [] } : { sub: token, scopes: [] }
})
await app.register(http, { prefix: '/api' })
await app.register(gateway, {
  transports: ['websocket'],
  exposeToolArgs: true,
  limits: { runs: 1_000, eventsPerSecond: 1_000 }
})
await app.register(a2a, { basePath: '/a2a' })
await app.register(openAiAgents, { prefix: '/v1' })
await app.register(anthropic, { prefix: '/managed' })
app.get('/memory', () => process.memoryUsage())
await app.listen({ port: 0, host: '127.0.0.1' })
process.once('SIGTERM', () => void app.close().then(() => process.exit()))
writeSync(1, `port ${(app.server.address() as AddressInfo).port}\n`)
