import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Type } from '@sinclair/typebox'
import a2a from '@svc/a2a'
import http from '@svc/http'
import registry, { createRegistry, type Registry } from '@svc/registry'
import runtime, { Agent, recallMemory, Team, Workflow } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import store from '@svc/store'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { watchStores } from '../helpers/key-app.ts'

const marker = (place: string) => `marker-${place}-${randomUUID()}`
const json = { 'content-type': 'application/json' }

/** Runnables that use what they are asked and say nothing of it; each run waits to be looked at. */
function addRunnables(agents: Registry, look: () => Promise<void>) {
  const received: string[] = []
  const model = scriptedModel(({ prompt }) => {
    received.push(JSON.stringify(prompt))
    return 'Noted.'
  })
  const instructions = async () => {
    await look()
    return 'Take notes.'
  }
  const agent = new Agent({ name: 'clerk', registry: agents, instructions, memory: recallMemory(), model })
  new Team({ name: 'office', registry: agents, mode: 'sequence', members: [agent] })
  new Workflow({
    name: 'filing',
    registry: agents,
    input: Type.Unknown(),
    steps: (flow) =>
      flow.step('look', async ({ input }) => {
        received.push(JSON.stringify(input))
        await look()
        return 'Filed.'
      })
  })
  return received
}

async function buildApp(t: Test, where: 'memory' | 'sqlite', input: boolean) {
  const given: string[] = []
  const during: string[] = []
  const folder = t.testdir()
  const app = Fastify()
  const agents = createRegistry()
  const files = () => readdirSync(folder).map((file) => readFileSync(join(folder, file), 'latin1'))
  const received = addRunnables(agents, async () => {
    // The writes of this turn are committed in one of the next.
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
    during.push(...files())
  })
  if (where === 'sqlite') await app.register(store, { url: `sqlite:${join(folder, 'app.db')}` })
  await app.register(registry, {
    registry: agents,
    record: { input },
    ...(where === 'memory' && { stores: watchStores(given) })
  })
  await app.register(runtime)
  await app.register(http, { prefix: '/api', fileUpload: true })
  await app.register(a2a, { basePath: '/a2a' })
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())

  const post = async (path: string, body: object | FormData, headers: Record<string, string> = json) => {
    const form = body instanceof FormData
    const response = await fetch(origin + path, {
      method: 'POST',
      headers: form ? {} : headers,
      body: form ? body : JSON.stringify(body)
    })
    t.equal(response.status, 200, `${path}: ${await response.clone().text()}`)
    return response.text()
  }
  const everything = async () => {
    await app.close()
    return [...given, ...during, ...files()]
  }
  return { post, received, everything }
}

/** Asks in every way that takes an input; returns the markers. */
async function askAll({ post }: Awaited<ReturnType<typeof buildApp>>): Promise<string[]> {
  const markers: string[] = []
  const mark = (place: string) => {
    markers.push(marker(place))
    return markers.at(-1)!
  }
  const data = (place: string) => Buffer.from(mark(place)).toString('base64')
  const key = { ...json, 'idempotency-key': 'k' }
  await post('/api/agents/clerk/run', { input: `I am ${mark('text')}.`, sessionId: 's', userId: 'u' }, key)
  await post('/api/agents/clerk/run', { input: mark('again'), sessionId: 's', userId: 'u' })
  const parts = [
    { type: 'text', text: mark('part') },
    { type: 'file', mimeType: 'text/plain', filename: mark('filename'), data: data('bytes') }
  ]
  await post('/api/agents/clerk/stream', { input: parts })
  await post('/api/teams/office/run', { input: mark('team') })
  await post('/api/workflows/filing/run', { input: { [mark('field')]: [mark('value')] } })
  const form = new FormData()
  form.append('input', mark('form'))
  form.append('files', new Blob([mark('upload')], { type: 'text/plain' }), `${mark('upload-name')}.txt`)
  await post('/api/agents/clerk/run', form)
  const message = { messageId: 'm', role: 'user', parts: [{ kind: 'text', text: mark('message') }] }
  const configuration = { blocking: true }
  const params = { message, configuration, metadata: { agent: 'clerk', note: mark('metadata') } }
  await post('/a2a', { jsonrpc: '2.0', id: 1, method: 'message/send', params })
  return markers
}

const placesOf = (markers: readonly string[], all: readonly string[]) =>
  markers.filter((each) => {
    const base64 = Buffer.from(each).toString('base64')
    return all.some((text) => text.includes(each) || text.includes(base64))
  })

for (const where of ['memory', 'sqlite'] as const) {
  t.test(`without record.input, what runs are asked is in no table: ${where}`, async (t) => {
    const app = await buildApp(t, where, false)
    const markers = await askAll(app)
    const used = placesOf(markers, app.received)
    for (const place of ['text', 'again', 'part', 'team', 'field', 'form', 'message'])
      t.ok(
        used.some((each) => each.startsWith(`marker-${place}-`)),
        `${place} was used`
      )
    const all = await app.everything()
    t.ok(
      all.some((text) => text.includes('Noted.')),
      'answers are stored'
    )
    t.strictSame(placesOf(markers, all), [])
  })

  t.test(`with it, they are, but for binary content: ${where}`, async (t) => {
    const app = await buildApp(t, where, true)
    const markers = await askAll(app)
    const found = placesOf(markers, await app.everything()).map((each) => each.split('-')[1])
    for (const place of ['text', 'again', 'part', 'filename', 'team', 'field', 'value', 'form', 'message'])
      t.ok(found.includes(place), place)
    for (const place of ['bytes']) t.notOk(found.includes(place), place)
  })
}
