import { join, resolve } from 'node:path'
import http from '@svc/http'
import registry from '@svc/registry'
import type { Model } from '@svc/runtime'
import store from '@svc/store'
import Fastify, { type FastifyInstance } from 'fastify'
import { createAnalyst } from './agents/analyst.ts'
import { createAssistant } from './agents/assistant.ts'
import { loadSections } from './docs/load-sections.ts'
import type { Env } from './env.ts'
import { SERVER_OPTIONS } from './server-options.ts'
import { createTools } from './tools/create-tools.ts'

const ROOT = resolve(import.meta.dirname, '../../..')

/** The service: its store, its run engine, its agents and its entrance. What it logs goes to stderr. */
export async function buildApp({ DATA_DIR, LOG_LEVEL }: Env, model: Model): Promise<FastifyInstance> {
  const app = Fastify({ ...SERVER_OPTIONS, logger: { level: LOG_LEVEL, stream: process.stderr } })

  await app.register(store, { url: `sqlite:${join(DATA_DIR, 'app.db')}` })
  await app.register(registry, { drainTimeout: 3_000 })
  createAssistant(model, createTools(loadSections(ROOT)))
  createAnalyst(model)
  await app.register(http, { prefix: '/api' })

  return app
}
