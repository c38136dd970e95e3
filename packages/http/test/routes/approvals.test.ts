import type { NumberedPart } from '@svc/registry'
import t from 'tap'
import { asking, startAsking } from '../helpers/asking.ts'
import { buildApp, echo, type TestApp } from '../helpers/build-app.ts'
import { readParts } from '../helpers/event-stream.ts'
import { requireError } from '../helpers/require-error.ts'

/** The same as `ask` of a secured app: asks under the prefix. */
const asker = ({ get, post }: TestApp) => ({
  ask: (method: string, path: string, headers: Record<string, string> = {}, body?: unknown) =>
    method === 'GET' ? get(path, headers) : post(path, body, headers)
})
const partsOf = async ({ get }: TestApp, runId: string): Promise<NumberedPart[]> =>
  readParts(await get(`/runs/${runId}/stream`))

t.test('pending approvals are listed, and an answer resumes the run', async (t) => {
  const app = await buildApp(t, { runnables: [asking(), echo] })
  t.strictSame(await (await app.get('/approvals')).json(), { approvals: [], nextCursor: null })
  const first = await startAsking(asker(app))
  const second = await startAsking(asker(app))
  const { approvals } = (await (await app.get('/approvals')).json()) as { approvals: object[] }
  t.match(approvals, [
    { runId: second.runId, toolName: 'send', args: { to: 'ada' }, toolCallId: 'c', expiresAt: /Z$/ },
    { runId: first.runId }
  ])

  const answer = { approved: true, args: { to: 'bob' } }
  const response = await app.post(`/approvals/${first.approvalId}`, answer)
  t.equal(response.status, 200)
  t.match(await response.json(), { runId: first.runId, pendingApprovals: [] })
  const parts = await partsOf(app, first.runId)
  t.match(
    parts.map(({ type }) => type),
    ['start', 'tool.approval.request', 'tool.approval.response', 'text', 'finish']
  )
  t.match(parts[2], { approved: true, args: { to: 'bob' } })
  t.match(await (await app.get('/approvals')).json(), { approvals: [{ runId: second.runId }] })

  await app.post(`/approvals/${second.approvalId}`, { approved: false, reason: 'no' })
  t.match((await partsOf(app, second.runId))[2], { approved: false, reason: 'no' })
})

t.test('an approval is answered once, in time, and before its run ends', async (t) => {
  const app = await buildApp(t, { runnables: [asking(), asking('hasty', 20)] })
  const answered = 'RUN_ERR_INPUT_ANSWERED'
  const { approvalId } = await startAsking(asker(app))
  const answers = await Promise.all(
    [true, false, true].map((approved) => app.post(`/approvals/${approvalId}`, { approved }))
  )
  t.strictSame(
    answers.map(({ status }) => status).toSorted((a, b) => a - b),
    [200, 409, 409]
  )
  await requireError(t, await app.post(`/approvals/${approvalId}`, { approved: true }), 409, answered)

  const hasty = await app.post('/agents/hasty/run', { input: 'x' }, { prefer: 'respond-async' })
  const [, request, response] = await partsOf(app, ((await hasty.json()) as { runId: string }).runId)
  t.match(response, { type: 'tool.approval.response', approved: false })
  const { approvalId: expired } = request as { approvalId: string }
  const late = await app.post(`/approvals/${expired}`, { approved: true })
  await requireError(t, late, 409, 'RUN_ERR_INPUT_EXPIRED')

  const canceled = await startAsking(asker(app))
  await app.post(`/runs/${canceled.runId}/cancel`)
  await requireError(
    t,
    await app.post(`/approvals/${canceled.approvalId}`, { approved: true }),
    409,
    answered
  )
  t.strictSame(await (await app.get('/approvals')).json(), { approvals: [], nextCursor: null })
})

t.test('bad answers', async (t) => {
  const app = await buildApp(t, { runnables: [asking()] })
  const { approvalId } = await startAsking(asker(app))
  const bad: unknown[] = [
    {},
    [],
    '"yes"',
    'null',
    { approved: 'true' },
    { approved: 1 },
    { approved: null },
    { approved: true, reason: 5 },
    { approved: true, reason: 'x'.repeat(4_097) },
    { approved: true, args: null },
    { approved: false, args: null },
    { approved: true, args: [{ to: 'bob' }] },
    { approved: true, args: '{"to":"bob"}' },
    { approved: true, more: 1 },
    { answer: true }
  ]
  for (const body of bad) {
    const says = JSON.stringify(body).slice(0, 40)
    await requireError(t, await app.post(`/approvals/${approvalId}`, body), 400, 'HTTP_ERR_VALIDATION', says)
  }
  const text = { 'content-type': 'text/plain' }
  const response = await app.post(`/approvals/${approvalId}`, 'approve', text)
  await requireError(t, response, 415, 'HTTP_ERR_UNSUPPORTED_MEDIA_TYPE')
  t.match(await (await app.get('/approvals')).json(), { approvals: [{ approvalId }] }, 'it still waits')
})

t.test('unknown ids', async (t) => {
  const app = await buildApp(t, { runnables: [asking()] })
  const { runId } = await startAsking(asker(app))
  for (const id of [
    'none',
    runId,
    `${runId}.`,
    `${runId}.0`,
    `${runId}.2`,
    `${runId}.01`,
    `${runId}.1e0`,
    '__proto__'
  ])
    await requireError(
      t,
      await app.post(`/approvals/${encodeURIComponent(id)}`, { approved: true }),
      404,
      'RUN_ERR_INPUT_NOT_FOUND',
      id
    )
})

t.test('approvals of unexposed runnables are not shown', async (t) => {
  const app = await buildApp(t, { runnables: [echo] })
  const run = await app.runs.start(asking(), 'x')
  for await (const part of run.parts()) if (part.type === 'tool.approval.request') break
  t.strictSame(await (await app.get('/approvals')).json(), { approvals: [], nextCursor: null })
  const response = await app.post(`/approvals/${run.runId}.1`, { approved: true })
  await requireError(t, response, 404, 'RUN_ERR_INPUT_NOT_FOUND')
})
