import a2a from '@svc/a2a'
import gateway from '@svc/gateway'
import http from '@svc/http'
import registryPlugin, { createRegistry } from '@svc/registry'
import { PNG, seeing } from '@tools/wires/agents'
import t from 'tap'
import { serve, type Served } from './helpers/serve.ts'

const OCTETS = 'application/octet-stream'
const base64 = (bytes: string) => Buffer.from(bytes, 'latin1').toString('base64')
const ODD = base64('\x00\x01\x02\x03')

/** What a surface answers to a message with a file: nothing, or what it refuses it with. */
type Send = (served: Served, mimeType: string, data: string) => Promise<unknown>

/** Messages as clients of each surface send them; files stand behind a text. */
const SURFACES: Readonly<Record<string, Send>> = {
  async HTTP({ ask }, mimeType, data) {
    const { status, body } = await ask('POST', '/api/agents/eyes/run', { input: toInput(mimeType, data) })
    return status === 200 ? undefined : body
  },
  async 'HTTP, streamed'({ ask }, mimeType, data) {
    const { status, body } = await ask('POST', '/api/agents/eyes/stream', { input: toInput(mimeType, data) })
    return status === 200 ? undefined : body
  },
  async 'Socket.IO'({ app, connect }, mimeType, data) {
    const { ask } = await connect('/')
    const answer = await ask('agent.run', { name: 'eyes', input: toInput(mimeType, data) })
    if (answer.code !== undefined) return answer
    for await (const _ of app.runs.parts(answer.runId));
    return undefined
  },
  async 'A2A 0.3'({ rpc }, mimeType, data) {
    const parts = [
      { kind: 'text', text: 'Look' },
      { kind: 'file', file: { bytes: data, mimeType } }
    ]
    const message = { kind: 'message', role: 'user', messageId: crypto.randomUUID(), parts }
    const answer = await rpc('/a2a', 'message/send', { message })
    return answer.code === undefined ? undefined : answer
  },
  async 'A2A 1.0'({ rpc }, mediaType, raw) {
    const parts = [{ text: 'Look' }, { raw, mediaType }]
    const message = { role: 'ROLE_USER', messageId: crypto.randomUUID(), parts }
    const answer = await rpc('/a2a', 'SendMessage', { message }, { 'a2a-version': '1.0' })
    return answer.code === undefined ? undefined : answer
  }
}

function toInput(mimeType: string, data: string) {
  return [
    { type: 'text', text: 'Look' },
    { type: 'file', mimeType, data }
  ]
}

/** Files as they are sent, and what the agent gets. */
const TAKEN = [
  [OCTETS, PNG, 'image', 'image/png'],
  [OCTETS, base64('%PDF-1.7 \x00'), 'file', 'application/pdf'],
  [OCTETS, base64('a,b\n1,2\n'), 'file', 'text/plain'],
  ['image/jpg', base64('\xff\xd8\xff\xe0\x00'), 'image', 'image/jpeg'],
  ['application/x-own', ODD, 'file', 'application/x-own']
] as const

t.test('a file whose type says nothing is what its content shows, over each surface', async (t) => {
  const { agent, inputs } = seeing()
  const served = await serve(t, async (app) => {
    const registry = createRegistry()
    registry.add(agent)
    await app.register(registryPlugin, { registry })
    await app.register(http, { prefix: '/api' })
    await app.register(gateway)
    await app.register(a2a, { basePath: '/a2a', defaultInputModes: ['*/*'] })
  })
  for (const [surface, send] of Object.entries(SURFACES)) {
    for (const [declared, data, type, mimeType] of TAKEN) {
      const label = `${surface}: ${declared} as ${mimeType}`
      t.equal(await send(served, declared, data), undefined, label)
      t.match(inputs.pop(), [{ text: 'Look' }, { type, mimeType, data }], label)
    }
    const { runs: before } = await served.app.runs.list({ limit: 100 })
    const refused = await send(served, OCTETS, ODD)
    t.match(JSON.stringify(refused), /1.{0,12}mimeType.{0,90}does not say what the file is/, surface)
    t.match(JSON.stringify(refused), /RUN_ERR_BAD_INPUT|-32602/, surface)
    t.strictSame(inputs, [], `${surface}: no run begins`)
    t.equal((await served.app.runs.list({ limit: 100 })).runs.length, before.length, surface)
  }
})
