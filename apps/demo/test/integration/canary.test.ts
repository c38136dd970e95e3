import { io } from 'socket.io-client'
import t, { type Test } from 'tap'
import { buildCanaryApp, canary } from '../helpers/canary-app.ts'

const names = ['echo', 'thrower', 'asks', 'tells', 'tools']
const json = { 'content-type': 'application/json' }
const headerNames = ['openai', 'anthropic', 'google', 'vendora', 'vendorb', 'vendorc'].map(
  (vendor) => `x-${vendor}-api-key`
)

/** Looks for every key in all that was told. */
function requireHidden(t: Test, told: string, keys: string[]): void {
  t.ok(told.length > 100_000 && told.includes('RUN_ERR_MODEL_AUTH') && told.includes('[redacted]'))
  for (const each of keys) {
    const at = told.indexOf(each)
    t.equal(at, -1, at < 0 ? each : `${each}: …${told.slice(Math.max(0, at - 200), at + 60)}…`)
  }
}

t.test('a key is used, and found nowhere', async (t) => {
  const { ask, asked, seen, everything } = await buildCanaryApp(t)
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
  for (const name of names) {
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
  requireHidden(t, await everything(), keys)
})

t.test('the same over a socket', async (t) => {
  const { origin, told, asked, everything } = await buildCanaryApp(t)
  const keys: string[] = []
  const key = (place: string) => {
    const made = canary(place)
    keys.push(made)
    return made
  }
  for (const name of names) {
    const extraHeaders = Object.fromEntries([...headerNames, 'x-api-key'].map((each) => [each, key(each)]))
    const socket = io(origin, { transports: ['websocket'], forceNew: true, extraHeaders })
    t.teardown(() => socket.disconnect())
    socket.onAny((event, payload) => told.push(event, JSON.stringify(payload)))
    const run = async (payload: object) => {
      const ended = new Promise<void>((resolve) => {
        socket.once('agent.done', () => resolve())
        socket.once('agent.error', () => resolve())
      })
      const ack: unknown = await socket.emitWithAck('agent.run', {
        name,
        input: 'Hello',
        parts: true,
        ...payload
      })
      told.push(JSON.stringify(ack))
      await ended
    }
    await run({})
    await run({ apiKey: key('payload') })
    await run({ apiKey: [key('wrong-type')] })
    await run({ apiKey: key('unknown-field'), more: 1 })
    await run({ name: 'nobody', apiKey: key('unknown-agent') })
    socket.disconnect()
  }
  for (const place of ['payload', 'x-openai-api-key'])
    t.ok(
      asked.some((each) => each?.includes(place)),
      `${place} arrived`
    )
  requireHidden(t, await everything(), keys)
})

t.test('whose key wins: body, header of the provider, x-api-key, the server’s own', async (t) => {
  const { ask, asked, seen } = await buildCanaryApp(t)
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
