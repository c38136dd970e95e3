import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createOpenAI } from '@ai-sdk/openai'
import { Type } from '@sinclair/typebox'
import gateway from '@svc/gateway'
import http, { clientErrorHandler, frameworkErrors, requestLogging } from '@svc/http'
import registry, { createRegistry, defineRunnable, type Registry, type RunContext } from '@svc/registry'
import { Agent, defineTool } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import store from '@svc/store'
import Fastify from 'fastify'
import type { Test } from 'tap'

/** A key that can be told from every other. */
export const canary = (place: string) => `sk-canary-${place}-${randomUUID()}`

const json = { 'content-type': 'application/json' }

/** A provider that tells the key it was given in whatever it answers. */
async function startEcho(t: Test) {
  const seen: string[] = []
  const server = createServer((request, response) => {
    const key = String(request.headers.authorization).replace('Bearer ', '')
    seen.push(key)
    request.resume().on('end', () => {
      const error = { message: `Incorrect API key provided: ${key}`, type: key, code: key, param: { key } }
      response.writeHead(401, { ...json, 'x-your-key': key })
      response.end(JSON.stringify({ error }))
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return { seen, baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` }
}

/** An app with everything that could tell a key: all logs, a file, the document; and what it has told. */
export async function buildCanaryApp(t: Test) {
  const { seen, baseURL } = await startEcho(t)
  const told: string[] = []
  const folder = t.testdir()
  const stream = { write: (line: string) => void told.push(line) }
  const app = Fastify({ logger: { level: 'trace', stream }, frameworkErrors, clientErrorHandler })
  const agents = createRegistry()
  const asked: (string | undefined)[] = []
  addAgents(agents, baseURL, (context) => {
    const key = context.apiKey('openai')?.reveal()
    asked.push(key)
    return key
  })
  await app.register(store, { url: `sqlite:${join(folder, 'app.db')}` })
  await app.register(registry, { registry: agents })
  await app.register(requestLogging)
  await app.register(http, { prefix: '/api', swagger: true, fileUpload: true })
  await app.register(gateway, { exposeToolArgs: true })
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())

  /** Asks, and remembers all of the answer. */
  const ask = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`${origin}/api${path}`, init)
    told.push(JSON.stringify([...response.headers]), await response.clone().text())
    return response
  }
  const everything = async () => {
    for (const path of ['/runs?limit=100', '/agents', '/approvals', '/docs/spec.json']) await ask(path)
    const { runs } = (await (await ask('/runs?limit=100')).json()) as { runs: { runId: string }[] }
    for (const { runId } of runs) {
      await ask(`/runs/${runId}`)
      await ask(`/runs/${runId}/stream`)
    }
    await app.close()
    for (const file of readdirSync(folder)) told.push(readFileSync(join(folder, file), 'latin1'))
    return told.join('\n')
  }
  return { origin, told, ask, asked, seen, everything }
}

/** Agents that tell the key in every way that code can. */
function addAgents(
  agents: Registry,
  baseURL: string,
  keyOf: (context: RunContext) => string | undefined
): void {
  const model = ({ apiKey = 'the-servers-own' }) => createOpenAI({ apiKey, baseURL })('gpt-5-mini')
  new Agent({ name: 'echo', registry: agents, provider: 'openai', model })

  const nothing = Type.Object({})
  const returns = defineTool({
    name: 'returns',
    description: 'Gives the key',
    input: nothing,
    execute: (_args, { context }) => ({ [String(keyOf(context))]: [{ deep: `key: ${keyOf(context)}!` }] })
  })
  const throws = defineTool({
    name: 'throws',
    description: 'Throws the key',
    input: nothing,
    execute(_args, { context }) {
      throw new Error(`refused: ${keyOf(context)}`)
    }
  })
  const toolCalls = ['returns', 'throws'].map((toolName) => ({ toolName, args: {} }))
  const scripted = scriptedModel(({ prompt }) =>
    prompt.at(-1)?.role === 'tool' ? `The tools said ${JSON.stringify(prompt.at(-1))}` : { toolCalls }
  )
  new Agent({ name: 'tools', registry: agents, tools: [returns, throws], model: scripted })

  agents.add(
    defineRunnable({
      kind: 'agent',
      name: 'thrower',
      run(_input, context) {
        const key = keyOf(context)
        context.log.error({ headers: { authorization: key }, list: [key] }, `the key is ${key}`)
        const cause = Object.assign(new Error(`cause ${key}`), { key })
        throw Object.assign(new Error(`no good: ${key}`, { cause }), {
          headers: { key },
          body: key,
          code: key
        })
      }
    })
  )
  agents.add(
    defineRunnable({
      kind: 'agent',
      name: 'asks',
      run(_input, context) {
        keyOf(context)
        return 'fine'
      }
    })
  )
  agents.add(
    defineRunnable({
      kind: 'agent',
      name: 'tells',
      async *stream(_input, context) {
        const key = keyOf(context)
        yield { type: 'text', text: `It is ${key}.` }
        yield { type: 'tool.call', toolCallId: '1', toolName: 'x', args: { key } }
        yield { type: 'tool.result', toolCallId: '1', toolName: 'x', result: [key], durationMs: 1 }
        yield { type: 'tool.call.delta', toolCallId: '1', toolName: 'x', delta: `{"key":"${key}"}` }
        yield {
          type: 'file',
          mimeType: 'text/plain',
          filename: `${key}.txt`,
          url: `https://files.example/${key}`
        }
        yield {
          type: 'citation',
          title: `On ${key}`,
          url: `https://pages.example/${key}`,
          quote: String(key)
        }
        yield { type: 'data', name: 'key', value: { [String(key)]: key } }
        yield { type: 'data', name: 'key', value: [key], transient: true }
        yield { type: 'structured', value: { key } }
        throw Object.assign(new Error(`no good: ${key}`), { code: 'RUN_ERR_MODEL_AUTH', statusCode: 502 })
      }
    })
  )
}
