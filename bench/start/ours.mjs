import a2a from '@svc/a2a'
import gateway from '@svc/gateway'
import http from '@svc/http'
import registry from '@svc/registry'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import Fastify from 'fastify'
import { listen } from './listen.mjs'

// An app with one agent over HTTP, sockets and A2A.
new Agent({ name: 'quick', model: scriptedModel('Hello.', { record: false }) })
const app = Fastify()
await app.register(registry)
await app.register(http, { prefix: '/api' })
await app.register(gateway)
await app.register(a2a, { basePath: '/a2a' })
await listen(app)
