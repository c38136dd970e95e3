import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Type } from '@sinclair/typebox'
import a2a from '@svc/a2a'
import http from '@svc/http'
import registryPlugin, {
  createRegistry,
  defineRunnable,
  removeSession,
  type Authenticate,
  type RunnableKind,
  type Stores
} from '@svc/registry'
import { Agent, defineTool, recallMemory, Team, windowMemory, Workflow } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import store from '@svc/store'
import { postgresForTests } from '@tools/postgres'
import t, { type Test } from 'tap'
import { rowsWith, tablesOfFile, tablesOfServer, type AllTables } from './helpers/all-tables.ts'
import { serve, until, type Served } from './helpers/serve.ts'

t.setTimeout(120_000)

const authenticate: Authenticate = Object.assign(
  ({ token }: { token?: string }) => (token === undefined ? null : { sub: token, scopes: ['*'] }),
  { schemes: { bearerAuth: { type: 'http', scheme: 'bearer' } } }
)
const said = (prompt: readonly { role: string; content: unknown }[]) => {
  const last = prompt.findLast(({ role }) => role === 'user')
  return /word\w+/.exec(JSON.stringify(last?.content))?.[0] ?? ''
}

/** Runnables of every kind, which write what they are given wherever something can be written. */
function makeRunnables() {
  const tool = (name: string, approval: boolean) =>
    defineTool({
      name,
      approval,
      description: 'Notes',
      input: Type.Object({ text: Type.String() }),
      execute: ({ text }) => ({ noted: text })
    })
  const [note, pay] = [tool('note', false), tool('pay', true)]
  const calling = (toolName: string) =>
    scriptedModel(({ prompt }) =>
      prompt.at(-1)?.role === 'tool'
        ? { text: `done ${said(prompt)}` }
        : { text: `I call ${said(prompt)}`, toolCalls: [{ toolName, args: { text: said(prompt) } }] }
    )
  const saying = () => scriptedModel(({ prompt }) => `You said ${said(prompt)}`)
  const own = { register: false } as const
  const desk = new Agent({
    ...own,
    name: 'desk',
    model: calling('note'),
    tools: [note],
    memory: recallMemory()
  })
  const payer = new Agent({ ...own, name: 'payer', model: calling('pay'), tools: [pay] })
  const window = new Agent({ ...own, name: 'window', model: saying(), memory: windowMemory() })
  // Its second turn has a summary of the first.
  const digest = new Agent({ ...own, name: 'digest', model: saying(), history: { maxMessages: 1 } })
  const member = new Agent({ ...own, name: 'member', model: saying(), memory: recallMemory() })
  const crew = new Team({ ...own, name: 'crew', mode: 'sequence', members: [member, window] })
  const flow = new Workflow({
    ...own,
    name: 'flow',
    steps: (steps) =>
      steps
        .step('first', ({ input }) => `step ${JSON.stringify(input)}`)
        .wait('review', { approval: { args: ({ previous }) => ({ previous }) } })
  })
  const asker = defineRunnable({
    kind: 'agent',
    name: 'asker',
    takesTurns: true,
    run: async (input, context) => {
      await context.ask({ message: `Which ${String(input)}?` })
      return 'x'
    }
  })
  return [desk, payer, window, digest, crew, flow, asker]
}

async function build(t: Test, url: string, schema?: string): Promise<Served> {
  const registry = createRegistry()
  for (const each of makeRunnables()) registry.add(each)
  return serve(t, async (app) => {
    await app.register(store, { url, stateKey: 'ab'.repeat(32), ...(schema !== undefined && { schema }) })
    await app.register(registryPlugin, {
      registry,
      authenticate,
      record: { files: true },
      webhooks: { allowPrivate: true }
    })
    await app.register(http, { prefix: '/api', admin: true })
    await app.register(a2a, { basePath: '/a2a' })
  })
}

const storesOf = ({ app }: Served): Stores => app.runs.stores

/** Uses every feature once in a session. */
async function useAll(served: Served, sub: string, sessionId: string, word: string): Promise<void> {
  const headers = { authorization: `Bearer ${sub}` }
  let memories = 0
  const unsubscribe = served.app.events.on('memory.stored', () => memories++)
  const run = async (kind: RunnableKind, name: string, waits = false, turn = 1) => {
    const data = Buffer.from(`bytes of ${word}`).toString('base64')
    const file = { type: 'file', mimeType: 'text/plain', filename: `${word}.txt`, data }
    const input = name === 'desk' ? [{ type: 'text', text: word }, file] : word
    const secrets = [`whsec_${Buffer.alloc(32).toString('base64')}`]
    const webhook = { url: `http://127.0.0.1:9/${word}`, secrets }
    const body = { input, sessionId, metadata: { about: word }, webhook }
    const more = { 'idempotency-key': `${word}-${name}-${turn}`, ...(waits && { prefer: 'respond-async' }) }
    const answer = await served.ask('POST', `/api/${kind}s/${name}/run`, body, { ...headers, ...more })
    if (answer.status >= 300) throw new Error(JSON.stringify(answer.body))
    const { runId } = answer.body as { runId: string }
    if (waits)
      await until(
        () => served.ask('GET', `/api/runs/${runId}`, undefined, headers),
        ({ body: { status } }) => status === 'input-required'
      )
  }
  for (const name of ['desk', 'window', 'digest']) await run('agent', name)
  await run('agent', 'digest', false, 2)
  await run('team', 'crew')
  for (const [kind, name] of [
    ['agent', 'payer'],
    ['agent', 'asker'],
    ['workflow', 'flow']
  ] as const)
    await run(kind, name, true)
  const joining = { input: `more ${word}`, sessionId, whenBusy: 'steer' }
  const joined = await served.ask('POST', '/api/agents/payer/run', joining, {
    ...headers,
    prefer: 'respond-async'
  })
  if (joined.body.joined !== true) throw new Error(JSON.stringify(joined.body))
  const parts = [{ kind: 'text', text: word }]
  const message = {
    kind: 'message',
    messageId: `m${word}`,
    role: 'user',
    contextId: sessionId,
    parts,
    metadata: { agentName: 'desk' }
  }
  const task = await served.rpc('/a2a', 'message/send', { message }, headers)
  const { tasks, browserStates, remoteSessions, sessionIndex } = storesOf(served)
  const config = { id: word, url: `https://example.org/${word}`, token: word }
  await tasks.setPushConfig(task.id, config, null)
  const key = { registry: 'global', kind: 'agent', owner: sub, sessionId } as const
  for (const name of ['desk', 'member']) {
    await browserStates!.save({ ...key, name }, { cookies: [{ name: word }], origins: [] })
    await remoteSessions!.save({ ...key, name: `far-${name}` }, 'x', { contextId: word })
  }
  await sessionIndex!.update({ ...key, name: 'desk' }, { title: `About ${word}`, metadata: { word } })
  await until(
    async () => memories,
    (count) => count >= 5
  )
  unsubscribe()
}

function filesWith(folder: string, text: string): string[] {
  return readdirSync(folder, { recursive: true })
    .map((name) => join(folder, String(name)))
    .filter((path) => statSync(path).isFile() && readFileSync(path, 'latin1').includes(text))
}

async function testDeletion(t: Test, served: Served, tables: AllTables, folder?: string): Promise<void> {
  const headers = { authorization: 'Bearer root' }
  await useAll(served, 'wordowner', 'first', 'wordalpha')
  await useAll(served, 'wordowner', 'wordsecond', 'wordbeta')
  await useAll(served, 'okapi', 'first', 'wordgamma')
  const scheduled = {
    kind: 'agent',
    name: 'desk',
    cron: '0 9 1 1 *',
    input: 'wordplan',
    metadata: { w: 'wordplan' }
  }
  const owner = { authorization: 'Bearer wordowner' }
  await served.ask('POST', '/api/schedules', scheduled, owner)
  await served.ask('POST', '/api/webhooks', { url: 'http://127.0.0.1:9/wordhook' }, owner)

  const before = await tables()
  for (const word of [
    'wordalpha',
    'wordbeta',
    'wordgamma',
    'wordplan',
    'wordhook',
    'wordowner',
    'wordsecond'
  ])
    t.ok(rowsWith(before, word).length > 0, `${word} is found`)
  const others = rowsWith(before, 'wordgamma').length
  if (folder !== undefined) t.ok(filesWith(folder, 'bytes of wordalpha').length > 0)

  for (const [kind, name] of [
    ...['desk', 'window', 'digest', 'payer', 'asker'].map((agent) => ['agent', agent] as const),
    ['team', 'crew'] as const,
    ['workflow', 'flow'] as const
  ])
    await removeSession(served.app.runs, {
      registry: 'global',
      kind,
      name,
      owner: 'wordowner',
      sessionId: 'wordsecond'
    })
  const between = await tables()
  for (const word of ['wordbeta', 'wordsecond']) t.same(rowsWith(between, word), [], `${word}, of a session`)
  for (const word of ['wordalpha', 'wordgamma'])
    t.equal(rowsWith(between, word).length, rowsWith(before, word).length, word)
  if (folder !== undefined) t.same(filesWith(folder, 'bytes of wordbeta'), [])

  const { status, body } = await served.ask('DELETE', '/api/admin/subjects/wordowner', undefined, headers)
  t.equal(status, 200)
  t.match(body, { schedules: 1, browserStates: 2, remoteSessions: 2, tasks: 0 })
  t.ok(body.runs >= 8 && body.sessions >= 6 && body.memories >= 4, JSON.stringify(body))
  const after = await tables()
  for (const word of ['wordalpha', 'wordplan', 'wordhook', 'wordowner'])
    t.same(rowsWith(after, word), [], word)
  t.equal(rowsWith(after, 'wordgamma').length, others, 'all of another person is there')
  if (folder !== undefined) t.same(filesWith(folder, 'bytes of wordalpha'), [])

  await useAll(served, 'wordowner', 'first', 'worddelta')
  t.ok(rowsWith(await tables(), 'worddelta').length > 0, 'the person may come again')
}

t.test('nothing of a session, or of a person, is left on SQLite', async (t) => {
  const folder = t.testdir()
  const file = join(folder, 'app.db')
  await testDeletion(t, await build(t, `sqlite:${file}`), tablesOfFile(file), folder)
})

const url = await postgresForTests(t)
t.test(
  'nothing of a session, or of a person, is left on Postgres',
  { skip: url === undefined && 'no Postgres runs on this machine' },
  async (t) => testDeletion(t, await build(t, url!), tablesOfServer(url!))
)
