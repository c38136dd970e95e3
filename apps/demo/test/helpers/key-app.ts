import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Type } from '@sinclair/typebox'
import http from '@svc/http'
import registry, { createInProcessStores, createRegistry, type Registry, type Stores } from '@svc/registry'
import runtime, {
  Agent,
  channelName,
  defineTool,
  EVENT_SCHEMAS,
  recallMemory,
  Team,
  Workflow,
  type MemoryTurn,
  type RuntimeEvents
} from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import store from '@svc/store'
import Fastify from 'fastify'
import type { Test } from 'tap'

const NAMES = Object.keys(EVENT_SCHEMAS) as (keyof RuntimeEvents)[]

/** The stores in memory; whatever they are given is kept as JSON. */
export function watchStores(given: string[]): Stores {
  const watch = <T extends object>(port: string, target: T): T =>
    new Proxy(target, {
      get: (_, name) => {
        const method: unknown = Reflect.get(target, name)
        if (typeof method !== 'function') return method
        return (...args: unknown[]) => {
          given.push(`${port}.${String(name)} ${JSON.stringify(args)}`)
          return method.apply(target, args) as unknown
        }
      }
    })
  const stores = createInProcessStores()
  return {
    ...stores,
    runs: watch('runs', stores.runs),
    log: watch('log', stores.log),
    sessions: watch('sessions', stores.sessions),
    memory: watch('memory', stores.memory),
    tasks: watch('tasks', stores.tasks),
    checkpoints: watch('checkpoints', stores.checkpoints)
  }
}

/** An app whose agent, team and workflow say what they are told, and all that its stores, its bus and its channels were given. */
export async function buildKeyApp(t: Test, where: 'memory' | 'sqlite') {
  const given: string[] = []
  const events: string[] = []
  const folder = t.testdir()
  const app = Fastify()
  const made = addRunnables(createRegistry(), given)
  if (where === 'sqlite') await app.register(store, { url: `sqlite:${join(folder, 'app.db')}` })
  await app.register(registry, {
    registry: made.registry,
    ...(where === 'memory' && { stores: watchStores(given) })
  })
  await app.register(runtime)
  await app.register(http, { prefix: '/api', clientInstructions: true, clientTools: true })
  const hear = (event: unknown, name: string | symbol) =>
    void events.push(`${String(name)} ${JSON.stringify(event)}`)
  for (const name of NAMES) {
    app.events.on(name, (event) => hear(event, name))
    subscribe(channelName(name), hear)
  }
  t.teardown(() => NAMES.forEach((name) => unsubscribe(channelName(name), hear)))
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())

  const post = async (path: string, body: object, headers: Record<string, string> = {}) => {
    const response = await fetch(`${origin}/api/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body)
    })
    return (await response.json()) as Record<string, unknown>
  }
  /** Runs with a caller's key, and approves what waits as it is shown; gives the record at the end. */
  const run = async (path: string, key: string, input: string, more: object = { sessionId: 's' }) => {
    const headers = { prefer: 'respond-async', 'x-api-key': key }
    const metadata = { note: input }
    const started = await post(`${path}/run`, { input, userId: 'u', metadata, ...more }, headers)
    const runId = String(started['runId'])
    for await (const part of app.runs.parts(runId)) {
      if (part.type !== 'tool.approval.request') continue
      const { args } = (await app.runs.get(runId))!.inputs.at(-1)!
      await post(`approvals/${part.approvalId}`, { approved: true, reason: 'why not', args })
    }
    return (await app.runs.get(runId))!
  }
  /** All that was given, once the app is closed. */
  const stored = async () => {
    await app.close()
    for (const file of readdirSync(folder)) given.push(readFileSync(join(folder, file), 'latin1'))
    return given
  }
  return { run, stored, events, ...made }
}

/** What they are told is their input: the key that comes in it gets wherever an input, an answer, or arguments get. */
function addRunnables(agents: Registry, given: string[]) {
  const executed: unknown[] = []
  const use = defineTool({
    name: 'use',
    description: 'Uses it',
    input: Type.Object({ what: Type.String() }),
    approval: true,
    execute: ({ what }) => {
      executed.push(what)
      return `used ${what}`
    }
  })
  const model = scriptedModel(({ prompt }) => {
    const last = prompt.at(-1)!
    const [said] = last.content as { text?: string }[]
    if (last.role === 'tool') return JSON.stringify(last.content)
    const what = said?.text ?? ''
    return { text: cut(`You said: ${what}`), toolCalls: [{ toolName: 'use', args: { what } }] }
  })
  const memory = recallMemory()
  // A memory may keep what it is told where it likes.
  const own = {
    ...memory,
    store: (context: Parameters<typeof memory.store>[0], turn: MemoryTurn) => {
      given.push(JSON.stringify(turn))
      return memory.store(context, turn)
    }
  }
  const sessions = watchStores(given).sessions
  const agent = new Agent({ name: 'user', registry: agents, tools: [use], memory: own, model })
  new Agent({ name: 'own', registry: agents, sessions, tools: [use], memory, model })
  new Team({ name: 'pair', registry: agents, mode: 'sequence', members: [agent] })
  new Workflow({
    name: 'flow',
    registry: agents,
    input: Type.String(),
    steps: (flow) =>
      flow
        .step('first', ({ input }) => ({ got: input }))
        .map(
          'items',
          ({ input }) => [input, { deep: [input] }],
          (each) => each.step('item', ({ previous }) => previous)
        )
        .wait('ask', { approval: { args: ({ input }) => ({ input }) } })
        .step('keep', async ({ input, context }) => {
          const { runId, stores } = context
          const [owner, namespace, text] = ['ada', 'notes', `Note: ${input}`]
          await stores.memory.put({ id: '1', owner, namespace, text, metadata: { text }, createdAt: 1 })
          const key = { registry: 'global', owner, kind: 'agent', name: 'x', sessionId: 's' } as const
          await stores.sessions.append(key, '1', [{ role: 'user', content: text }])
          await stores.checkpoints.save(`${runId}-own`, 1, { text })
          return [text]
        })
        .step('last', ({ input, previous }) => {
          executed.push(input, ...previous)
          return `done with ${input}`
        })
  })
  return { registry: agents, executed }
}

const cut = (text: string) => text.match(/.{1,7}/gs) ?? []
