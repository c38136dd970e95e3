import type { ErrorBody, RunList } from '@svc/http'
import type { RunContext, RunRecord } from '@svc/registry'
import { scriptedRunnable } from '@svc/testing'
import t, { type Test } from 'tap'
import { asking, startAsking } from '../helpers/asking.ts'
import { buildApp, echo } from '../helpers/build-app.ts'
import { readParts } from '../helpers/event-stream.ts'
import { requireError } from '../helpers/require-error.ts'
import { buildSecuredApp, type SecuredApp } from '../helpers/secured-app.ts'

const endless = scriptedRunnable([{ type: 'text', text: 'secret' }, 60_000], { name: 'endless' })
const runnables = [endless, asking(), echo]
const input = { input: 'x' }

/** Starts a run of a caller. */
async function start({ ask }: SecuredApp, caller: Record<string, string>, name = 'endless'): Promise<string> {
  const headers = { ...caller, prefer: 'respond-async' }
  const response = await ask('POST', `/agents/${name}/run`, headers, input)
  return ((await response.json()) as RunRecord).runId
}

/** Every way to an id, of a run and of an approval. */
const ways = (runId: string, approvalId: string): [method: string, path: string, body?: object][] => [
  ['GET', `/runs/${runId}`],
  ['HEAD', `/runs/${runId}`],
  ['GET', `/runs/${runId}/stream`],
  ['GET', `/runs/${runId}/files/f`],
  ['HEAD', `/runs/${runId}/files/f`],
  ['GET', `/runs/${runId}/stream?after=99`],
  ['POST', `/runs/${runId}/cancel`],
  ['POST', `/approvals/${approvalId}`, { approved: true }]
]

/** What an answer says, without the ids in it. */
async function describe(t: Test, response: Response, ...ids: string[]) {
  const text = await response.text()
  const { requestId, ...body } = (text === '' ? { requestId: '' } : JSON.parse(text)) as ErrorBody
  t.type(requestId, 'string')
  const headers = Object.fromEntries(response.headers)
  delete headers['date']
  delete headers['content-length']
  let said = JSON.stringify({ status: response.status, headers, body })
  for (const id of ids) said = said.replaceAll(id, 'ID')
  return said
}

t.test('runs and approvals of others look like ones that do not exist', async (t) => {
  const app = await buildSecuredApp(t, { runnables })
  const [ann, bob] = [app.as('ann', 'agents:run'), app.as('bob', 'agents:*')]
  const { runId, approvalId } = await startAsking(app, ann)
  const ended = await start(app, ann, 'echo')
  const none = '00000000-0000-4000-8000-000000000000'
  for (const id of [runId, ended]) {
    const [theirs, unknown] = [ways(id, approvalId), ways(none, `${none}.1`)]
    for (const [index, [method, path, body]] of theirs.entries()) {
      const found = await app.ask(method, path, bob, body)
      t.equal(found.status, 404, `${method} ${path}`)
      const [, otherPath] = unknown[index]!
      const missing = await app.ask(method, otherPath, bob, body)
      t.equal(
        await describe(t, found, approvalId, id),
        await describe(t, missing, `${none}.1`, none),
        `${method} ${path}`
      )
    }
  }
  t.strictSame(await (await app.ask('GET', '/runs', bob)).json(), { runs: [], nextCursor: null })
  t.strictSame(await (await app.ask('GET', '/approvals', bob)).json(), { approvals: [], nextCursor: null })
  t.match(await (await app.ask('GET', `/runs/${runId}`, ann)).json(), { status: 'input-required' })
})

t.test('own runs and approvals', async (t) => {
  const app = await buildSecuredApp(t, { runnables })
  const ann = app.as('ann', 'agents:run')
  const { runId, approvalId } = await startAsking(app, ann)
  const { runs } = (await (await app.ask('GET', '/runs', ann)).json()) as RunList
  t.match(runs, [{ runId }])
  t.match(await (await app.ask('GET', '/approvals', ann)).json(), { approvals: [{ approvalId, runId }] })
  const answered = await app.ask('POST', `/approvals/${approvalId}`, ann, { approved: true })
  t.equal(answered.status, 200)
  const parts = await readParts(await app.ask('GET', `/runs/${runId}/stream`, ann))
  t.match(parts.at(-1), { type: 'finish' })
  const other = await start(app, ann)
  t.equal((await app.ask('POST', `/runs/${other}/cancel`, ann)).status, 200)
})

t.test('similar names are different owners', async (t) => {
  const app = await buildSecuredApp(t, { runnables })
  const runId = await start(app, app.as('ann', 'agents:run'))
  for (const sub of ['Ann', 'ann ', 'ann\0', 'an', 'anonymous', 'ann%00', '*', 'admin'])
    t.equal((await app.ask('GET', `/runs/${runId}`, app.as(sub, 'agents:*'))).status, 404, sub)
})

for (const scope of ['*', 'admin:*']) {
  t.test(`${scope} reaches all`, async (t) => {
    const app = await buildSecuredApp(t, { runnables })
    const [ann, admin] = [app.as('ann', 'agents:run'), app.as('root', scope)]
    const { runId, approvalId } = await startAsking(app, ann)
    t.equal((await app.ask('GET', `/runs/${runId}`, admin)).status, 200)
    t.match(await (await app.ask('GET', '/approvals', admin)).json(), { approvals: [{ approvalId }] })
    t.equal((await app.ask('POST', `/approvals/${approvalId}`, admin, { approved: false })).status, 200)
    t.equal((await app.ask('GET', `/runs/${runId}/stream`, admin)).status, 200)
    const other = await start(app, ann)
    t.equal((await app.ask('POST', `/runs/${other}/cancel`, admin)).status, 200)
    t.match(await (await app.ask('GET', `/runs/${other}`, ann)).json(), { status: 'canceled' })
  })
}

t.test('approvals:answer reaches only approvals of runnables that its holder may run', async (t) => {
  const app = await buildSecuredApp(t, {
    runnables: [...runnables, asking('secret')],
    options: { rbac: { agentScopes: { secret: ['secret:use'] } } }
  })
  const ann = app.as('ann', 'agents:run', 'secret:use')
  const approval = await startAsking(app, ann)
  const secret = await startAsking(app, ann, 'secret')
  const answerer = app.as('eva', 'approvals:answer', 'agents:run')
  const { approvals } = (await (await app.ask('GET', '/approvals', answerer)).json()) as {
    approvals: unknown[]
  }
  t.match(approvals, [{ approvalId: approval.approvalId, args: { to: 'ada' } }])
  t.equal(approvals.length, 1)
  const path = `/approvals/${approval.approvalId}`
  const hidden = `/approvals/${secret.approvalId}`
  const answer = { approved: true }
  await requireError(t, await app.ask('POST', hidden, answerer, answer), 404, 'RUN_ERR_INPUT_NOT_FOUND')
  const cannotRun = app.as('eva', 'approvals:answer')
  await requireError(t, await app.ask('POST', path, cannotRun, answer), 404, 'RUN_ERR_INPUT_NOT_FOUND')
  t.strictSame(await (await app.ask('GET', '/approvals', cannotRun)).json(), {
    approvals: [],
    nextCursor: null
  })
  await requireError(t, await app.ask('GET', `/runs/${approval.runId}`, answerer), 404, 'RUN_ERR_NOT_FOUND')
  await requireError(
    t,
    await app.ask('POST', `/runs/${approval.runId}/cancel`, answerer),
    404,
    'RUN_ERR_NOT_FOUND'
  )
  t.equal((await app.ask('POST', path, answerer, answer)).status, 200)
  const wild = app.as('eva', 'approvals:*', 'agents:*', 'secret:*')
  t.equal((await app.ask('POST', hidden, wild, answer)).status, 200)
})

t.test('an owner who may no longer run it may not answer', async (t) => {
  const app = await buildSecuredApp(t, { runnables })
  const { approvalId } = await startAsking(app, app.as('ann', 'agents:run'))
  const response = await app.ask('POST', `/approvals/${approvalId}`, app.as('ann'), { approved: true })
  await requireError(t, response, 404, 'RUN_ERR_INPUT_NOT_FOUND')
})

t.test('the same sessionId of another owner is another session', async (t) => {
  const seen: { owner: string; isNew: boolean; userId: string | undefined }[] = []
  const remembers = scriptedRunnable(
    [
      ({ sessionOwner, newSession, userId }: RunContext) =>
        void seen.push({ owner: sessionOwner, isNew: newSession, userId }),
      { type: 'text', text: 'x' }
    ],
    { name: 'remembers' }
  )
  const app = await buildSecuredApp(t, { runnables: [remembers] })
  const run = (caller: Record<string, string>, more: object = {}) =>
    app.ask('POST', '/agents/remembers/run', caller, { input: 'x', sessionId: 's', ...more })
  t.equal((await run(app.as('ann', 'agents:run'))).status, 200)
  t.equal((await run(app.as('bob', 'agents:run'))).status, 200)
  t.equal((await run(app.as('bob', 'agents:run'), { userId: 'bob' })).status, 200)
  t.equal((await run(app.as('root', '*'), { userId: 'ann' })).status, 200)
  t.strictSame(
    seen.map(({ owner }) => owner),
    ['ann', 'bob', 'bob', 'root']
  )
})

t.test('userId must be the caller’s own, except for administrators', async (t) => {
  const app = await buildSecuredApp(t, { runnables })
  const run = (caller: Record<string, string>, userId: string) =>
    app.ask('POST', '/agents/echo/run', caller, { input: 'x', userId })
  const ann = app.as('ann', 'agents:*')
  for (const userId of ['bob', 'Ann', 'ann ', '*', 'anonymous'])
    await requireError(t, await run(ann, userId), 403, 'HTTP_ERR_FOREIGN_USER', userId)
  t.equal((await run(ann, 'ann')).status, 200)
  t.equal((await run(app.as('root', 'admin:*'), 'bob')).status, 200)
  t.equal((await run(app.as('root', '*'), 'bob')).status, 200)
  t.equal(((await (await app.ask('GET', '/runs', app.as('bob'))).json()) as RunList).runs.length, 0)

  const open = await buildApp(t, { runnables })
  t.equal((await open.post('/agents/echo/run', { input: 'x', userId: 'anyone' })).status, 200)
})
