import { remoteAgent, type AgentExtension } from '@svc/a2a'
import { createContext, type Envelope, type RunnableDefinition } from '@svc/registry'
import t from 'tap'
import { asker } from '../helpers/agents.ts'
import { buildApp, echo, eventsOf, sayV1, say, type AppRequest, type TestApp } from '../helpers/build-app.ts'

const PLAIN = 'https://example.org/ext/plain/v1'
const NEEDED = 'https://example.org/ext/needed/v1'
const OTHER = 'https://example.org/ext/other/v1'
const plain = { uri: PLAIN, description: 'Says more', params: { hints: ['a'] } }
const needed = { uri: NEEDED, required: true }
const NAMES = { '0.3': 'x-a2a-extensions', '1.0': 'a2a-extensions' } as const

const declaring = (...extensions: AgentExtension[]): AppRequest => ({ options: { extensions } })

/** Every version and binding, with the forms of its requests. */
const WAYS = [
  { version: '0.3', path: '', body: rpc('message/send', say('x')), get: rpc('tasks/list', {}) },
  { version: '0.3', path: '', body: rpc('message/stream', say('x')), get: rpc('tasks/list', {}) },
  { version: '1.0', path: '', body: rpc('SendMessage', sayV1('x')), get: rpc('ListTasks', {}) },
  { version: '1.0', path: '', body: rpc('SendStreamingMessage', sayV1('x')), get: rpc('ListTasks', {}) },
  { version: '0.3', path: '/v1/message:send', body: legacy(), get: '/v1/tasks' },
  { version: '0.3', path: '/v1/message:stream', body: legacy(), get: '/v1/tasks' },
  { version: '1.0', path: '/message:send', body: sayV1('x'), get: '/tasks' },
  { version: '1.0', path: '/echo/message:stream', body: sayV1('x'), get: '/echo/tasks' }
] as const

function rpc(method: string, params: object) {
  return { jsonrpc: '2.0', id: 1, method, params }
}

function legacy() {
  return { message: { role: 'ROLE_USER', content: [{ text: 'x' }] } }
}

async function ask(
  { url }: TestApp,
  path: string,
  body: object | undefined,
  headers: Record<string, string>
) {
  const response = await fetch(url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { ...(body && { 'content-type': 'application/json' }), ...headers },
    ...(body && { body: JSON.stringify(body) })
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

/** The header of each version, and that of the other one. */
const headersOf = ({ version }: { version: '0.3' | '1.0' }) => {
  const other = version === '0.3' ? '1.0' : '0.3'
  return { own: NAMES[version], foreign: NAMES[other] }
}

t.test('the card declares extensions, in every version', async (t) => {
  const { origin } = await buildApp(t, declaring(plain, needed))
  const get = async (headers = {}) =>
    (await (await fetch(`${origin}/.well-known/agent-card.json`, { headers })).json()) as object
  for (const headers of [{}, { 'a2a-version': '0.3' }, { 'a2a-version': '1.0' }])
    t.match(await get(headers), { capabilities: { extensions: [plain, needed] } })
  const without = await buildApp(t)
  t.notMatch(await (await fetch(`${without.origin}/.well-known/agent-card.json`)).text(), /extensions/)
})

t.test('an extension that is declared and named is active, and named in the answer', async (t) => {
  const app = await buildApp(t, declaring(plain, { uri: OTHER }))
  for (const way of WAYS) {
    const { own, foreign } = headersOf(way)
    const told = async (headers: Record<string, string>) => {
      const { headers: given, status } = await ask(app, way.path, way.body, headers)
      t.equal(status, 200)
      t.equal(given.get(foreign), null)
      return given.get(own)
    }
    t.equal(await told({ [own]: PLAIN }), PLAIN, way.path)
    t.equal(await told({ [own]: `urn:nobody, ${OTHER} ,,${PLAIN},${PLAIN}` }), `${PLAIN}, ${OTHER}`)
    t.equal(await told({ [own]: `${PLAIN}/more, urn:nobody` }), null, 'unknown ones are ignored')
    t.equal(await told({ [foreign]: PLAIN }), null, 'each version has a name of its own')
    t.equal(await told({}), null)
    const [path, body] = typeof way.get === 'string' ? [way.get] : ['', way.get]
    t.equal((await ask(app, path, body, { [own]: PLAIN })).headers.get(own), PLAIN, 'other operations too')
  }
  const without = await buildApp(t)
  t.equal(
    (await ask(without, '', rpc('ListTasks', {}), { [NAMES['1.0']]: PLAIN })).headers.get(NAMES['1.0']),
    null
  )
})

t.test('a message without a required extension is refused; other requests are not', async (t) => {
  const app = await buildApp(t, declaring(plain, needed))
  for (const way of WAYS) {
    const { own, foreign } = headersOf(way)
    for (const headers of [{}, { [own]: PLAIN }, { [foreign]: NEEDED }] as Record<string, string>[]) {
      const { status, text } = await ask(app, way.path, way.body, headers)
      t.equal(status, way.path === '' ? 200 : 400, way.path)
      t.match(text, way.path === '' || way.version === '0.3' ? /-32008/ : /"status":"FAILED_PRECONDITION"/)
      if (way.version === '1.0')
        t.match(text, /"reason":"EXTENSION_SUPPORT_REQUIRED","domain":"a2a-protocol.org"/)
      t.match(text, `"requiredExtensions":"${NEEDED}"`)
    }
    const [path, body] = typeof way.get === 'string' ? [way.get] : ['', way.get]
    const listed = await ask(app, path, body, {})
    t.match(listed.text, /"tasks":\[/)
    t.match((await ask(app, way.path, way.body, { [own]: NEEDED })).text, /completed|COMPLETED/)
  }
  t.equal((await app.runs.list({ limit: 99 })).runs.length, WAYS.length, 'what was refused was not begun')
})

t.test('a follow-up needs it too, and is not stored if refused', async (t) => {
  const app = await buildApp(t, { runnables: [asker], ...declaring(needed) })
  const headers = { [NAMES['1.0']]: NEEDED }
  const { result } = await app.rpc('SendMessage', sayV1('x'), headers)
  const { id: taskId } = result.task
  t.match(await app.rpc('SendMessage', sayV1('approve', { taskId })), { error: { code: -32008 } })
  t.match(await app.rpc('GetTask', { id: taskId }), {
    result: { status: { state: 'TASK_STATE_INPUT_REQUIRED' }, history: { length: 1 } }
  })
  t.match(await app.rpc('SendMessage', sayV1('approve', { taskId }), headers), {
    result: { task: { status: { state: 'TASK_STATE_COMPLETED' } } }
  })
})

t.test('the agent sees the active extensions and their metadata', async (t) => {
  const seen: Envelope[] = []
  const seer: RunnableDefinition = {
    kind: 'agent',
    name: 'seer',
    run(_input, context) {
      seen.push(context.envelope)
      t.equal(context.child('member').envelope, context.envelope, 'members do too')
      return 'seen'
    }
  }
  const app = await buildApp(t, { runnables: [seer], ...declaring(plain, needed) })
  const headers = { [NAMES['1.0']]: `${NEEDED},${OTHER}` }
  const metadata = { [`${NEEDED}/code`]: 'one' }
  await app.rpc('SendMessage', sayV1('x', { metadata }), headers)
  await app.rpc('SendMessage', { ...sayV1('x', { metadata }), metadata: { a: 1 } }, headers)
  await app.rpc('SendMessage', { ...sayV1('x'), metadata: { a: 1 } }, headers)
  await app.rpc('SendMessage', sayV1('x'), headers)
  t.same(seen, [
    { extensions: [NEEDED], metadata },
    { extensions: [NEEDED], metadata: { ...metadata, a: 1 } },
    { extensions: [NEEDED], metadata: { a: 1 } },
    { extensions: [NEEDED] }
  ])
  const plainApp = await buildApp(t, { runnables: [seer] })
  await plainApp.rpc('SendMessage', sayV1('x', { metadata: { extensions: ['no'] } }))
  await plainApp.rpc('SendMessage', sayV1('x'))
  t.same(seen.slice(4), [{ metadata: { extensions: ['no'] } }, {}])
})

t.test('a remote agent sends the extensions of its options', async (t) => {
  for (const version of ['0.3', '1.0'] as const) {
    const { url } = await buildApp(t, { options: { extensions: [needed, plain], versions: [version] } })
    const run = (extensions?: string[]) =>
      remoteAgent({ url, ...(extensions && { extensions }) }).run('x', createContext())
    t.match(await run([NEEDED, PLAIN]), { text: 'x' })
    await t.rejects(run(), { code: 'A2A_ERR_REMOTE', message: /-32008/ })
    t.throws(() => remoteAgent({ url, extensions: ['a b'] }), { code: 'A2A_ERR_BAD_OPTION' })
  }
})

t.test('extensions do not change the events of a stream', async (t) => {
  const app = await buildApp(t, { runnables: [echo], ...declaring(plain) })
  const { text, headers } = await ask(app, '', rpc('SendStreamingMessage', sayV1('x')), {
    [NAMES['1.0']]: PLAIN
  })
  t.equal(headers.get('content-type'), 'text/event-stream; charset=utf-8')
  t.match(eventsOf(text).at(-1), { result: { statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } } })
})
