import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createOpenAI } from '@ai-sdk/openai'
import http, { clientErrorHandler, frameworkErrors, requestLogging } from '@svc/http'
import registry, { createRegistry, defineRunnable } from '@svc/registry'
import { Agent } from '@svc/runtime'
import store from '@svc/store'
import Fastify from 'fastify'
import t, { type Test } from 'tap'

const canary = (place: string) => `sk-canary-${place}-${randomUUID()}`
const json = { 'content-type': 'application/json' }
const headerNames = ['openai', 'anthropic', 'google', 'vendora', 'vendorb', 'vendorc'].map(
  (vendor) => `x-${vendor}-api-key`
)

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
async function build(t: Test) {
  const { seen, baseURL } = await startEcho(t)
  const told: string[] = []
  const folder = t.testdir()
  const stream = { write: (line: string) => void told.push(line) }
  const app = Fastify({ logger: { level: 'trace', stream }, frameworkErrors, clientErrorHandler })
  const agents = createRegistry()
  const asked: (string | undefined)[] = []
  const model = ({ apiKey = 'the-servers-own' }) => createOpenAI({ apiKey, baseURL })('gpt-5-mini')
  new Agent({ name: 'echo', registry: agents, provider: 'openai', model })
  agents.add(
    defineRunnable({
      kind: 'agent',
      name: 'thrower',
      run(_input, context) {
        const key = context.apiKey('openai')
        asked.push(key)
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
        asked.push(context.apiKey('openai'))
        return 'fine'
      }
    })
  )
  await app.register(store, { url: `sqlite:${join(folder, 'app.db')}` })
  await app.register(registry, { registry: agents })
  await app.register(requestLogging)
  await app.register(http, { prefix: '/api', swagger: true, fileUpload: true })
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
  return { ask, asked, seen, everything }
}

t.test('a key is used, and found nowhere', async (t) => {
  const { ask, asked, seen, everything } = await build(t)
  const keys: string[] = []
  const key = (place: string) => {
    const made = canary(place)
    keys.push(made)
    return made
  }
  const post = (name: string, verb: string, headers: Record<string, string>, more: object = {}) =>
    ask(`/agents/${name}/${verb}`, {
      method: 'POST',
      headers: { ...json, ...headers },
      body: JSON.stringify({ input: 'Hello', sessionId: 's', ...more })
    })
  for (const name of ['echo', 'thrower', 'asks']) {
    for (const verb of ['run', 'stream']) {
      for (const header of [...headerNames, 'x-api-key', 'authorization', 'cookie', 'proxy-authorization'])
        await post(name, verb, { [header]: key(header) })
      await post(name, verb, {}, { apiKey: key('body') })
      await post(name, verb, { authorization: `Bearer ${key('bearer')}` })
      await post(name, verb, { 'x-api-key': key('refused') }, { input: 5 })
      await post(name, verb, {}, { apiKey: [key('wrong-type')] })
      await post(name, verb, {}, { apiKey: key('too-long').padEnd(5_000, 'x') })
      await post(name, verb, {}, { apiKey: key('unknown-field'), more: 1 })
      const form = new FormData()
      form.append('input', 'Hello')
      form.append('apiKey', key('form'))
      form.append('files', new Blob(['a'], { type: 'text/plain' }), 'a.txt')
      await ask(`/agents/${name}/${verb}`, { method: 'POST', body: form })
      const cut = `{"input":"x","apiKey":"${key('cut-json')}"`
      await ask(`/agents/${name}/${verb}`, { method: 'POST', headers: json, body: cut })
    }
  }
  await ask('/none', { headers: { 'x-api-key': key('no-route') } })
  await ask('/agents/%zz', { headers: { 'x-api-key': key('bad-url') } })
  await post(
    'asks',
    'run',
    { 'x-api-key': key('idempotent'), 'idempotency-key': 'k' },
    { apiKey: key('idempotent') }
  )

  t.ok(
    asked.some((each) => each?.includes('form')) && seen.some((each) => each.includes('body')),
    'keys arrived'
  )
  const told = await everything()
  t.ok(told.length > 100_000 && told.includes('RUN_ERR_MODEL_AUTH') && told.includes('"level":10'))
  for (const each of keys) {
    const at = told.indexOf(each)
    t.equal(at, -1, at < 0 ? each : `${each}: …${told.slice(Math.max(0, at - 200), at + 60)}…`)
  }
})

t.test('whose key wins: body, header of the provider, x-api-key, the server’s own', async (t) => {
  const { ask, asked, seen } = await build(t)
  const [body, own, other, generic] = ['body', 'own', 'other', 'generic'].map(canary) as [
    string,
    string,
    string,
    string
  ]
  const cases: [headers: Record<string, string>, apiKey: string | undefined, wanted: string | undefined][] = [
    [{ 'x-openai-api-key': own, 'x-api-key': generic }, body, body],
    [{ 'x-openai-api-key': own, 'x-api-key': generic, 'x-google-api-key': other }, undefined, own],
    [{ 'x-vendora-api-key': own, 'x-api-key': generic }, undefined, own],
    [{ 'x-google-api-key': other, 'x-api-key': generic }, undefined, generic],
    [{ 'x-google-api-key': other }, undefined, undefined],
    [{ authorization: `Bearer ${other}`, cookie: `apiKey=${other}` }, undefined, undefined],
    [{ 'x-openai-api-key': '', 'x-api-key': generic }, undefined, generic],
    [{}, undefined, undefined]
  ]
  for (const [headers, apiKey, wanted] of cases) {
    for (const name of ['asks', 'echo'])
      await ask(`/agents/${name}/run`, {
        method: 'POST',
        headers: { ...json, ...headers },
        body: JSON.stringify({ input: 'x', ...(apiKey && { apiKey }) })
      })
    t.equal(asked.at(-1), wanted, Object.keys(headers).join())
    t.equal(seen.at(-1)?.startsWith('sk-') ? seen.at(-1) : undefined, wanted, 'and to the model')
  }
})
