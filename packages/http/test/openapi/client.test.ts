import { execFile } from 'node:child_process'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { OpenApiDocument } from '@svc/http'
import { Type } from '@sinclair/typebox'
import openapiTypescript, { astToString } from 'openapi-typescript'
import t from 'tap'
import { asking, waitingFor } from '../helpers/asking.ts'
import { buildApp, echo } from '../helpers/build-app.ts'
import { makerOf } from '../helpers/file-maker.ts'
import { responseValidatorOf } from '../helpers/validate-response.ts'

const run = promisify(execFile)
const root = resolve(import.meta.dirname, '../..')

// Runs every operation, and prints `[method, path, status, content type, body]` of each answer. The last lines must not type-check.
const PROGRAM = `
import createClient from 'openapi-fetch'
import type { components, paths } from './api.ts'

type Part = components['schemas']['Part']
const [baseUrl = ''] = process.argv.slice(2)
const answers: unknown[] = []
const api = createClient<paths>({ baseUrl })
api.use({
  async onResponse({ request, response }) {
    const body = await response.clone().text()
    const { pathname, search } = new URL(request.url)
    answers.push([request.method, pathname + search, response.status, response.headers.get('content-type'), body])
  }
})

const agent = { params: { path: { name: 'echo' as const } } }
const team = { params: { path: { name: 'crew' as const } } }
const workflow = { params: { path: { name: 'flow' as const } } }
const body = { input: 'Hi', sessionId: 's1', onDisconnect: 'continue' as const }
const text = { parseAs: 'text' as const }

const { data, error } = await api.POST('/api/agents/{name}/run', { ...agent, body })
if (error !== undefined) throw new Error(error.code)
if (!('text' in data)) throw new Error('answered at once')
const said: string = data.text
const runId: string = data.runId
const reason: 'stop' | 'length' | 'content-filter' | 'max-steps' | 'canceled' | 'other' = data.finishReason
if (said !== 'Hi' || reason !== 'stop') throw new Error(JSON.stringify(data))
await api.POST('/api/teams/{name}/run', { ...team, body: { input: [{ type: 'text', text: 'Hi' }] } })
await api.POST('/api/workflows/{name}/run', { ...workflow, body: { input: { any: ['json', 1, null] } } })
await api.POST('/api/agents/{name}/stream', { ...agent, body, ...text })
await api.POST('/api/teams/{name}/stream', { ...team, body, ...text })
await api.POST('/api/workflows/{name}/stream', { ...workflow, body, ...text })
for (const path of ['/api/agents', '/api/teams', '/api/workflows', '/api/registry', '/api/livez', '/api/readyz'] as const)
  await api.GET(path)
await api.GET('/api/agents/{name}', agent)
await api.GET('/api/teams/{name}', team)
await api.GET('/api/workflows/{name}', workflow)
const page = await api.GET('/api/runs', { params: { query: { status: 'completed', limit: 2 } } })
const next: string | null | undefined = page.data?.nextCursor
await api.GET('/api/runs', { params: { query: { cursor: next ?? '' } } })
const one = { params: { path: { runId } } }
const record = await api.GET('/api/runs/{runId}', one)
if (record.data?.status !== 'completed') throw new Error('not completed')
const from = { path: { runId }, header: { 'Last-Event-ID': '1' } }
await api.GET('/api/runs/{runId}/stream', { params: from, ...text })
await api.GET('/api/runs/{runId}/stream', { params: { path: { runId }, query: { after: '3' } }, ...text })
const made = await api.POST('/api/agents/{name}/run', { params: { path: { name: 'maker' as const } }, body })
if (made.data === undefined || !('text' in made.data)) throw new Error('answered at once')
const fileId: string | undefined = made.data.files?.[0]?.fileId
if (fileId === undefined) throw new Error('no file')
const range = { path: { runId: made.data.runId, fileId }, header: { Range: 'bytes=1-' } }
const bytes = await api.GET('/api/runs/{runId}/files/{fileId}', { params: range, ...text })
if (bytes.response.status !== 206 || bytes.data !== 'b') throw new Error('not the range')
const again = await api.POST('/api/runs/{runId}/cancel', one)
if (again.response.status !== 409 || again.error?.code !== 'RUN_ERR_TERMINAL') throw new Error('not refused')
await api.GET('/api/runs/{runId}', { params: { path: { runId: 'none' } } })

const asking = { params: { path: { name: 'asking' as const }, header: { Prefer: 'respond-async' } } }
const { response: asked } = await api.POST('/api/agents/{name}/run', { ...asking, body })
if (asked.status !== 202) throw new Error('not answered at once')
let approvalId: string | undefined
while (approvalId === undefined) {
  const { data: waiting } = await api.GET('/api/approvals')
  approvalId = waiting?.approvals[0]?.approvalId
}
const waiting = await api.GET('/api/approvals/{approvalId}', { params: { path: { approvalId } } })
const argsBytes: number | undefined = waiting.data?.argsBytes
if (argsBytes !== 12) throw new Error('not the arguments that were given')
const answer = { params: { path: { approvalId } }, body: { approved: true, args: { to: 'bob' } } }
await api.POST('/api/approvals/{approvalId}', answer)
const twice = await api.POST('/api/approvals/{approvalId}', answer)
if (twice.error?.code !== 'RUN_ERR_INPUT_ANSWERED') throw new Error('answered twice')

const question = { params: { path: { name: 'question' as const }, header: { Prefer: 'respond-async' } } }
await api.POST('/api/agents/{name}/run', { ...question, body })
let inputId: string | undefined
while (inputId === undefined) {
  const { data: waiting } = await api.GET('/api/inputs')
  inputId = waiting?.inputs[0]?.inputId
}
const open = await api.GET('/api/inputs/{inputId}', { params: { path: { inputId } } })
const kind: 'question' | 'tool' | 'auth' | undefined = open.data?.kind
if (kind !== 'question') throw new Error('not a question')
const chosen = { params: { path: { inputId } }, body: { action: 'accept' as const, content: 3 } }
await api.POST('/api/inputs/{inputId}', chosen)
const late = await api.POST('/api/inputs/{inputId}', chosen)
if (late.error?.code !== 'RUN_ERR_INPUT_ANSWERED') throw new Error('answered twice')

const planned = { kind: 'agent' as const, name: 'planned', cron: '0 9 * * *', input: 'Hi' }
const own = { path: { kind: 'agent' as const, name: 'echo', sessionId: 's1' } }
const talks = await api.GET('/api/sessions', { params: { query: { kind: 'agent', name: 'echo' } } })
if (talks.data?.sessions[0]?.sessionId !== 's1') throw new Error('not listed')
const named = await api.PATCH('/api/sessions/{kind}/{name}/{sessionId}', { params: own, body: { title: 'Greetings' } })
const title: string | undefined = named.data?.title
if (title !== 'Greetings') throw new Error('not named')
const talk = await api.GET('/api/sessions/{kind}/{name}/{sessionId}', { params: { ...own, query: { limit: 5 } } })
const place: string | undefined = talk.data?.lastEventId
if (place === undefined) throw new Error(talk.error?.code)
const astray = { params: { ...own, query: { after: '99.9' } } }
const lost = await api.GET('/api/sessions/{kind}/{name}/{sessionId}/stream', astray)
if (lost.error?.code !== 'RUN_ERR_LOG_GONE') throw new Error('not refused')
const forking = { params: own, body: { sessionId: 's2' } }
const forked = await api.POST('/api/sessions/{kind}/{name}/{sessionId}/fork', forking)
const forkId: string | undefined = forked.data?.sessionId
if (forkId !== 's2') throw new Error('not forked')
const compacted = await api.POST('/api/sessions/{kind}/{name}/{sessionId}/compact', { params: own })
const leftOut = compacted.data && 'messages' in compacted.data ? compacted.data.messages : undefined
if (leftOut !== 0) throw new Error('not compacted')
await api.DELETE('/api/sessions/{kind}/{name}/{sessionId}', { params: own })
const deleted = await api.GET('/api/sessions/{kind}/{name}/{sessionId}', { params: own })
if (deleted.error?.code !== 'RUN_ERR_SESSION_NOT_FOUND') throw new Error('not deleted')

const created = await api.POST('/api/schedules', { body: planned })
const scheduleId: string | undefined = created.data?.scheduleId
if (scheduleId === undefined) throw new Error(created.error?.code)
const schedule = { params: { path: { scheduleId } } }
const off = await api.PATCH('/api/schedules/{scheduleId}', { ...schedule, body: { enabled: false } })
const nextAt: string | undefined = off.data?.nextAt
if (nextAt !== undefined) throw new Error('still planned')
const found = await api.GET('/api/schedules/{scheduleId}', schedule)
if (found.data?.enabled !== false) throw new Error('not switched off')
const plans = await api.GET('/api/schedules', { params: { query: { limit: 1 } } })
if (plans.data?.schedules[0]?.scheduleId !== scheduleId) throw new Error('not listed')
await api.DELETE('/api/schedules/{scheduleId}', schedule)
const gone = await api.GET('/api/schedules/{scheduleId}', schedule)
if (gone.error?.code !== 'RUN_ERR_SCHEDULE_NOT_FOUND') throw new Error('not removed')

const health = await api.GET('/api/admin/health')
const busy: number | undefined = health.data?.eventLoop.utilization
if (busy === undefined) throw new Error('no report')

const hook = await api.POST('/api/webhooks', { body: { url: 'http://127.0.0.1:9/' } })
const webhookId: string | undefined = hook.data?.webhookId
if (webhookId === undefined || hook.data?.secrets.length !== 1) throw new Error(hook.error?.code)
const webhook = { params: { path: { webhookId } } }
await api.PATCH('/api/webhooks/{webhookId}', { ...webhook, body: { events: ['run.failed'] } })
const seen = await api.GET('/api/webhooks/{webhookId}', webhook)
if (seen.data?.events[0] !== 'run.failed') throw new Error('not changed')
const hooks = await api.GET('/api/webhooks', { params: { query: { limit: 1 } } })
if (hooks.data?.webhooks[0]?.webhookId !== webhookId) throw new Error('not listed')
await api.DELETE('/api/webhooks/{webhookId}', webhook)
const dead = await api.GET('/api/webhooks/deliveries', { params: { query: { state: 'dead' } } })
if (dead.data?.deliveries.length !== 0) throw new Error('something is dead')
const retried = await api.POST('/api/webhooks/deliveries/{deliveryId}/retry', {
  params: { path: { deliveryId: 'none' } }
})
if (retried.error?.code !== 'RUN_ERR_DELIVERY_NOT_FOUND') throw new Error('found')

const all = await api.GET('/api/admin/runs', { params: { query: { owner: 'root', kind: 'agent', limit: 1 } } })
const owner: string | undefined = all.data?.runs[0]?.owner
if (owner !== 'root') throw new Error('not of root')
const removed = await api.DELETE('/api/admin/runs', { params: { query: { status: 'completed' } } })
const count: number | undefined = removed.data?.removed
if (count === 0) throw new Error('nothing removed')
const forgotten = await api.DELETE('/api/admin/subjects/{sub}', { params: { path: { sub: 'ann' } } })
const memories: number | undefined = forgotten.data?.memories
if (memories !== 0) throw new Error('not forgotten')
await api.DELETE('/api/admin/agents/{name}', agent)
await api.DELETE('/api/admin/teams/{name}', team)
await api.DELETE('/api/admin/workflows/{name}', workflow)
console.log(JSON.stringify(answers))

export function textOf(part: Part): string {
  switch (part.type) {
    case 'text':
      return part.text
    case 'tool.call':
      return part.toolName
    case 'error':
      return part.error.message
    default:
      return String(part.seq)
  }
}

export const refused = async () => {
  // @ts-expect-error -- no such agent
  await api.POST('/api/agents/{name}/run', { params: { path: { name: 'nobody' } }, body })
  // @ts-expect-error -- a conversation is a list of messages
  await api.POST('/api/agents/{name}/run', { ...agent, body: { messages: 'Hi' } })
  // @ts-expect-error -- an agent takes a message
  await api.POST('/api/agents/{name}/run', { ...agent, body: { input: 1 } })
  // @ts-expect-error -- no such status
  await api.GET('/api/runs', { params: { query: { status: 'done' } } })
  // @ts-expect-error -- an answer says yes or no
  await api.POST('/api/approvals/{approvalId}', { params: { path: { approvalId: 'a' } }, body: {} })
  // @ts-expect-error -- a schedule has an input
  await api.POST('/api/schedules', { body: { kind: 'agent', name: 'echo', cron: '* * * * *' } })
  // @ts-expect-error -- no such event
  await api.POST('/api/webhooks', { body: { url: 'https://example.com/', events: ['run.started'] } })
  // @ts-expect-error -- no such action
  await api.POST('/api/inputs/{inputId}', { params: { path: { inputId: 'a' } }, body: { action: 'yes' } })
}
`

const question = waitingFor(
  (context) => context.ask({ message: 'How many?', schema: Type.Integer() }),
  'question'
)

const maker = makerOf({ mimeType: 'text/plain', content: Buffer.from('ab') })

t.test('a generated client type-checks, and runs every operation', async (t) => {
  const { url, origin } = await buildApp(t, {
    engine: { webhooks: { allowPrivate: true } },
    runnables: [
      { ...echo, compacts: true },
      asking(),
      question,
      maker,
      { ...echo, name: 'planned', resumable: true },
      { ...echo, kind: 'team', name: 'crew' }
    ],
    options: {
      // Else the names of the agents would not be told.
      swagger: { protect: true },
      authenticate: () => ({ sub: 'root', scopes: ['*'] }),
      workflows: [{ ...echo, kind: 'workflow', name: 'flow', inputSchema: Type.Unknown() }]
    }
  })
  const document = (await (await fetch(`${url}/docs/spec.json`)).json()) as OpenApiDocument
  const dir = await mkdtemp(join(tmpdir(), 'client-'))
  t.teardown(() => rm(dir, { recursive: true }))
  const types = await openapiTypescript(document as never)
  await writeFile(join(dir, 'api.ts'), astToString(types))
  await writeFile(join(dir, 'client.ts'), PROGRAM)
  await writeFile(join(dir, 'package.json'), '{ "type": "module" }')
  await writeFile(join(dir, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
  await symlink(join(root, 'node_modules'), join(dir, 'node_modules'))

  const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')
  // The hooks that tap loads into every child break the compiler.
  const checked = await run('env', ['-u', 'NODE_OPTIONS', process.execPath, tsc, '-p', dir]).catch(
    (err: { stdout: string; stderr: string }) => err
  )
  t.equal(checked.stdout + checked.stderr, '', 'it type-checks')

  const { stdout } = await run(process.execPath, ['--no-warnings', join(dir, 'client.ts'), origin])
  const answers = JSON.parse(stdout) as [string, string, number, string | null, string][]
  const validator = responseValidatorOf(document)
  const seen = new Set<string>()
  for (const [method, path, status, contentType, body] of answers) {
    const says = `${method} ${path} ${status}`
    t.strictSame(validator.faultsOf({ method, path, status, contentType, body }), [], says)
    const operation = validator.find(method, path)
    if (status < 300) seen.add(operation?.operationId ?? '')
  }
  const all = Object.values(document.paths).flatMap((path) => Object.values(path))
  // Two were refused, and the stream of a session has no end.
  const others = new Set(['cancelRun', 'retryWebhookDelivery', 'streamSession'])
  const ids = all.map(({ operationId }) => operationId).filter((id) => !others.has(id ?? ''))
  t.strictSame(seen, new Set(ids), 'every operation gave what it says')
})

const compilerOptions = {
  target: 'es2024',
  module: 'nodenext',
  strict: true,
  noEmit: true,
  exactOptionalPropertyTypes: true,
  allowImportingTsExtensions: true,
  verbatimModuleSyntax: true,
  skipLibCheck: true,
  types: ['node'],
  typeRoots: [join(root, '../../node_modules/@types')]
}
