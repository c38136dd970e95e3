import { setTimeout as pause } from 'node:timers/promises'
import console from '@svc/console'
import http from '@svc/http'
import registryPlugin, { createRegistry, type RunContext, type YieldedPart } from '@svc/registry'
import Fastify, { type FastifyInstance } from 'fastify'

const PARTS_A_SECOND = 200
const TICK = 10

/** A console, and what it shows. */
export interface ServedConsole {
  /** The address of the page. */
  readonly page: string
  /** Starts a run, and returns its id. */
  start(name: 'many' | 'short' | 'fast', input: number, sessionId: string): Promise<string>
  /** Resolves once a run has ended. */
  ended(runId: string): Promise<void>
  close(): Promise<void>
}

/** Serves the console with three agents: `many` writes the number of parts of its input, `short` says a word, `fast` writes 200 parts a second. */
export async function serveConsole(): Promise<ServedConsole> {
  const registry = createRegistry()
  registry.add({
    kind: 'agent',
    name: 'many',
    async *stream(input) {
      for (let at = 0; at < Number(input); at += 4) yield* work(at)
    }
  })
  registry.add({ kind: 'agent', name: 'short', run: () => 'Done.' })
  registry.add({
    kind: 'agent',
    name: 'fast',
    async *stream(input, { signal }: RunContext) {
      const begin = performance.now()
      for (let at = 0; at < Number(input);) {
        const due = Math.min(Number(input), ((performance.now() - begin) / 1_000) * PARTS_A_SECOND)
        for (; at < due; at++) yield say(at)
        await pause(TICK, undefined, { signal })
      }
    }
  })
  const app: FastifyInstance = Fastify({ forceCloseConnections: true })
  await app.register(registryPlugin, { registry })
  await app.register(http, { prefix: '/api' })
  await app.register(console, { prefix: '/console' })
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  return {
    page: `${origin}/console/`,
    async start(name, input, sessionId) {
      const reply = await fetch(`${origin}/api/agents/${name}/run`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', prefer: 'respond-async' },
        body: JSON.stringify({ input: String(input), sessionId })
      })
      if (reply.status !== 202) throw new Error(await reply.text())
      return reply.headers.get('x-run-id')!
    },
    async ended(runId) {
      for await (const part of app.runs.parts(runId)) if (part.type === 'finish') return
    },
    close: () => app.close()
  }
}

const say = (at: number): YieldedPart => ({
  type: 'text',
  text: at % 12 === 11 ? `**${at}**.\n\n` : `word ${at} `
})

/** Four parts of a run: what it says, and a call with its result. */
function* work(at: number): Generator<YieldedPart> {
  const call = { toolCallId: `call-${at}`, toolName: 'look_up' }
  yield say(at)
  yield say(at + 1)
  yield { type: 'tool.call', args: { key: at, words: ['a', 'b'] }, ...call }
  yield { type: 'tool.result', result: { found: at }, durationMs: 1, ...call }
}
