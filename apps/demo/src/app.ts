import { join, resolve } from 'node:path'
import files from '@fastify/static'
import gateway from '@svc/gateway'
import a2a from '@svc/a2a'
import agUi from '@svc/ag-ui'
import anthropic from '@svc/anthropic'
import consolePage from '@svc/console'
import http, { errorHandler, requestLogging } from '@svc/http'
import mcp from '@svc/mcp'
import openAi from '@svc/openai'
import openAiAgents from '@svc/openai/agents'
import realtime from '@svc/realtime'
import registry from '@svc/registry'
import type { Model } from '@svc/runtime'
import store from '@svc/store'
import uiStream from '@svc/ui-stream'
import Fastify, { LogController, type FastifyInstance } from 'fastify'
import { addressOf, MANAGED, OPENAI, SHOP } from './address.ts'
import { createAnalyst } from './agents/analyst.ts'
import { createAssistant } from './agents/assistant.ts'
import { createBooking } from './agents/booking.ts'
import { createCompanion } from './agents/companion.ts'
import { createCourier } from './agents/courier.ts'
import { createNotes } from './agents/notes.ts'
import { createPhone } from './agents/phone.ts'
import { createBrowser, createScout } from './agents/scout.ts'
import { randomSecret, type DemoAuth } from './auth/demo-auth.ts'
import { loadSections } from './docs/sections.ts'
import type { Env } from './env.ts'
import { addFrontDoor } from './front-door.ts'
import { SERVER_OPTIONS } from './server-options.ts'
import { createDesk } from './teams/desk.ts'
import { createTools } from './tools/create-tools.ts'
import { createMemo } from './workflows/memo.ts'
import type { ChosenVoice } from './voice/choose-voice.ts'

const ROOT = resolve(import.meta.dirname, '../../..')
/** Concurrent runs: as many as one process streams smoothly with the offline model. */
const MAX_RUNS = 200

/** What may differ from the defaults of the demo. */
export interface AppOptions {
  /** Default: requests need no token. */
  auth?: DemoAuth | undefined
  /** The models of calls; default: there are no calls. */
  voice?: ChosenVoice | { readonly missing: string } | undefined
}

/** Builds the service: store, run engine, agents, team, workflow and surfaces. It logs to stderr. */
export async function buildApp(
  { DATA_DIR, DATABASE_URL, DEMO_SECRET = randomSecret(), HOST, LOG_LEVEL, PORT }: Env,
  model: Model,
  { auth, voice }: AppOptions = {}
): Promise<FastifyInstance> {
  const app = Fastify({
    ...SERVER_OPTIONS,
    logger: { level: LOG_LEVEL, stream: process.stderr },
    // Fastify's own lines contain the whole URL, including secrets that a client puts there.
    logController: new LogController({ disableRequestLogging: true })
  })

  await app.register(requestLogging)
  await app.register(store, { url: DATABASE_URL ?? `sqlite:${join(DATA_DIR, 'app.db')}` })
  await app.register(registry, { drainTimeout: 3_000, limits: { maxRuns: MAX_RUNS }, ...auth?.policy })
  const address = addressOf(HOST, PORT)
  const tools = createTools(loadSections(ROOT), address)
  const assistant = createAssistant(model, tools)
  createDesk(model, [assistant, createAnalyst(model), createNotes(model)])
  await createCompanion(model)
  createBooking(model)
  createCourier(model)
  createMemo(assistant)
  const browser = createBrowser()
  app.addHook('onClose', () => browser.close())
  createScout(model, browser, address)
  if (voice !== undefined && 'listen' in voice) createPhone(model, tools, voice)
  await app.register(http, {
    prefix: '/api',
    fileUpload: true,
    clientTools: true,
    swagger: { title: 'Agent transport service' },
    ...auth?.http
  })
  await app.register(uiStream, { prefix: '/api', clientTools: true })
  await app.register(mcp, { prefix: '/api', name: 'demo' })
  await app.register(agUi, { prefix: '/api', clientTools: true })
  await app.register(gateway, {
    asyncApi: { path: '/api/docs/asyncapi.json' },
    // Clients that poll would need a balancer that knows them again.
    ...(DATABASE_URL !== undefined && { transports: ['websocket'] })
  })
  await app.register(a2a, { basePath: '/a2a' })
  await app.register(openAi, { prefix: OPENAI, clientTools: true, clientInstructions: true })
  await app.register(openAiAgents, { prefix: OPENAI, clientTools: true, clientInstructions: true })
  await app.register(anthropic, { prefix: MANAGED, clientTools: true, clientInstructions: true })
  await app.register(realtime, { prefix: OPENAI, secret: DEMO_SECRET })
  await app.register(errorHandler)
  await app.register(files, {
    root: join(ROOT, 'apps/demo/shop'),
    prefix: SHOP,
    redirect: true,
    decorateReply: false
  })
  await app.register(consolePage, {
    prefix: '/',
    title: 'Demo',
    surfaces: {
      http: '/api',
      agui: '/api',
      a2a: '/a2a',
      responses: OPENAI,
      agents: OPENAI,
      realtime: OPENAI,
      managed: MANAGED
    }
  })
  addFrontDoor(app)

  return app
}
