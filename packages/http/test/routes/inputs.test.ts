import { Type } from '@sinclair/typebox'
import t from 'tap'
import { asking, startAsking, startWaiting, waitingFor } from '../helpers/asking.ts'
import { buildApp, echo, type TestApp } from '../helpers/build-app.ts'
import { readParts } from '../helpers/event-stream.ts'
import { requireError } from '../helpers/require-error.ts'
import { buildSecuredApp } from '../helpers/secured-app.ts'

const schema = Type.Object({ size: Type.Integer({ minimum: 1 }) })
const question = waitingFor((context) => context.ask({ message: 'Which size?', schema }), 'question')
const tool = waitingFor(
  (context) => context.callClient({ toolCallId: 'c', toolName: 'locate', args: { near: 'x'.repeat(5_000) } }),
  'tool'
)
const runnables = [question, tool, asking(), echo]
const asker = ({ get, post }: TestApp) => ({
  ask: (method: string, path: string, headers: Record<string, string> = {}, body?: unknown) =>
    method === 'GET' ? get(path, headers) : post(path, body, headers)
})
const listOf = async (response: Response) =>
  ((await response.json()) as { inputs: { inputId: string }[] }).inputs

t.test('pending inputs are listed, and an answer resumes the run', async (t) => {
  const app = await buildApp(t, { runnables })
  t.strictSame(await (await app.get('/inputs')).json(), { inputs: [], nextCursor: null })
  const { runId, inputId } = await startWaiting(asker(app), {}, 'question')
  const called = await startWaiting(asker(app), {}, 'tool')
  await startAsking(asker(app))
  const inputs = await listOf(await app.get('/inputs'))
  t.match(inputs, [
    {
      runId: called.runId,
      kind: 'tool',
      toolName: 'locate',
      argsBytes: 5_011,
      argsPreview: /^\{"near":"x+$/
    },
    { runId, kind: 'question', message: 'Which size?', schema: { type: 'object' }, expiresAt: /Z$/ }
  ])
  t.equal(inputs.length, 2, 'approvals have a list of their own')
  t.match(await listOf(await app.get(`/inputs?runId=${runId}`)), [{ inputId }])
  t.match(await (await app.get(`/inputs/${called.inputId}`)).json(), { args: { near: 'x'.repeat(5_000) } })
  t.match(await (await app.get(`/inputs/${inputId}`)).json(), { inputId, message: 'Which size?' })

  const response = await app.post(`/inputs/${inputId}`, { action: 'accept', content: { size: 3 } })
  t.equal(response.status, 200)
  t.match(await response.json(), { runId, pendingInputs: [], pendingInputCount: 0 })
  const parts = await readParts(await app.get(`/runs/${runId}/stream`))
  t.match(parts.slice(1), [
    { type: 'input.request', inputId, kind: 'question' },
    { type: 'input.response', inputId, action: 'accept', content: { size: 3 } },
    { text: '{"action":"accept","content":{"size":3}}' },
    { type: 'finish' }
  ])
  await app.post(`/inputs/${called.inputId}`, { action: 'accept', content: 'here' })
  const told = await readParts(await app.get(`/runs/${called.runId}/stream`))
  t.strictSame('content' in told[2]!, false, 'the result of a tool is not in the answer')
  t.match(told[3], { text: '{"action":"accept","content":"here"}' })
  for (const path of [`/inputs/${inputId}`, `/inputs/${called.inputId}`])
    await requireError(t, await app.get(path), 409, 'RUN_ERR_INPUT_ANSWERED')
})

t.test('an input is answered once, in time, and before its run ends', async (t) => {
  const hasty = waitingFor((context) => context.ask({ message: '?', timeout: 1_000 }), 'hasty')
  const app = await buildApp(t, { runnables: [...runnables, hasty] })
  const { inputId } = await startWaiting(asker(app), {}, 'question')
  const answers = await Promise.all(
    [1, 2, 3].map((size) => app.post(`/inputs/${inputId}`, { action: 'accept', content: { size } }))
  )
  t.strictSame(
    answers.map(({ status }) => status).toSorted((a, b) => a - b),
    [200, 409, 409]
  )
  const { runId, inputId: expired } = await startWaiting(asker(app), {}, 'hasty')
  const parts = await readParts(await app.get(`/runs/${runId}/stream`))
  t.match(parts[2], { type: 'input.response', action: 'cancel' })
  const canceled = await startWaiting(asker(app), {}, 'question')
  await app.post(`/runs/${canceled.runId}/cancel`)
  const answer = { action: 'accept', content: { size: 1 } }
  for (const id of [inputId, canceled.inputId])
    await requireError(t, await app.post(`/inputs/${id}`, answer), 409, 'RUN_ERR_INPUT_ANSWERED')
  await requireError(t, await app.get(`/inputs/${expired}`), 409, 'RUN_ERR_INPUT_EXPIRED')
  await requireError(t, await app.post(`/inputs/${expired}`, answer), 409, 'RUN_ERR_INPUT_EXPIRED')
})

t.test('a wrong answer is refused, and the run keeps waiting', async (t) => {
  const app = await buildApp(t, { runnables })
  const { inputId } = await startWaiting(asker(app), {}, 'question')
  const deep = `${'['.repeat(10_000)}${']'.repeat(10_000)}`
  const bad: [body: unknown, code: string, status?: number][] = [
    [{}, 'HTTP_ERR_VALIDATION'],
    [[], 'HTTP_ERR_VALIDATION'],
    [null, 'HTTP_ERR_VALIDATION'],
    [{ action: 'yes' }, 'HTTP_ERR_VALIDATION'],
    [{ action: ['accept'] }, 'HTTP_ERR_VALIDATION'],
    [{ approved: true }, 'HTTP_ERR_VALIDATION'],
    [{ action: 'accept', content: { size: 1 }, more: 1 }, 'HTTP_ERR_VALIDATION'],
    [{ action: 'accept' }, 'RUN_ERR_BAD_INPUT'],
    [{ action: 'accept', content: 'large' }, 'RUN_ERR_BAD_INPUT'],
    [{ action: 'accept', content: { size: 0 } }, 'RUN_ERR_BAD_INPUT'],
    [{ action: 'decline', content: { size: 1 } }, 'RUN_ERR_BAD_INPUT'],
    [`{"action":"accept","content":${deep}}`, 'HTTP_ERR_BAD_JSON'],
    ['{"action":"accept","content":{"size":1,"__proto__":{}}}', 'HTTP_ERR_BAD_JSON'],
    ['{"action":"accept"', 'HTTP_ERR_BAD_JSON'],
    [{ action: 'accept', content: 'x'.repeat(2_000_000) }, 'HTTP_ERR_BODY_TOO_LARGE', 413]
  ]
  for (const [body, code, status = 400] of bad) {
    const says = JSON.stringify(body).slice(0, 60)
    await requireError(t, await app.post(`/inputs/${inputId}`, body), status, code, says)
  }
  const faults = await app.post(`/inputs/${inputId}`, { action: 'accept', content: { size: 0 } })
  t.match(await faults.json(), { message: /size: must be >= 1/ })
  t.match(await listOf(await app.get('/inputs')), [{ inputId }], 'it still waits')
  for (const query of ['limit=0', 'limit=101', 'kind=tool', 'runId='])
    await requireError(t, await app.get(`/inputs?${query}`), 400, 'HTTP_ERR_VALIDATION', query)
  await requireError(t, await app.get('/inputs?cursor=1.x'), 400, 'REG_ERR_BAD_CURSOR')
})

t.test('an approval is no input, and an input is no approval', async (t) => {
  const app = await buildApp(t, { runnables })
  const { approvalId } = await startAsking(asker(app))
  const { runId, inputId } = await startWaiting(asker(app), {}, 'question')
  const [asInput, asApproval] = [{ action: 'accept' }, { approved: true }]
  for (const id of ['none', runId, `${runId}.`, `${runId}.2`, `${runId}.01`, '__proto__', approvalId]) {
    const path = `/inputs/${encodeURIComponent(id)}`
    await requireError(t, await app.post(path, asInput), 404, 'RUN_ERR_INPUT_NOT_FOUND', id)
    await requireError(t, await app.get(path), 404, 'RUN_ERR_INPUT_NOT_FOUND', id)
  }
  const path = `/approvals/${inputId}`
  await requireError(t, await app.post(path, asApproval), 404, 'RUN_ERR_INPUT_NOT_FOUND')
  await requireError(t, await app.get(path), 404, 'RUN_ERR_INPUT_NOT_FOUND')
  const { approvals } = (await (await app.get('/approvals')).json()) as { approvals: object[] }
  t.match(approvals, [{ approvalId }])
  t.equal(approvals.length, 1)
})

t.test('questions are for their owner and inputs:answer, client tools for their owner only', async (t) => {
  const app = await buildSecuredApp(t, { runnables, options: { rbac: {} } })
  const ann = app.as('ann', 'agents:run')
  const asked = await startWaiting(app, ann, 'question')
  const called = await startWaiting(app, ann, 'tool')
  const others = {
    bob: app.as('bob', 'agents:run'),
    approver: app.as('eva', 'approvals:answer', 'agents:run'),
    cannotRun: app.as('eva', 'inputs:answer')
  }
  const answer = { action: 'accept', content: { size: 1 } }
  for (const [name, caller] of Object.entries(others)) {
    t.same(await listOf(await app.ask('GET', '/inputs', caller)), [], name)
    for (const { inputId } of [asked, called])
      for (const [method, body] of [['GET'], ['POST', answer]] as const) {
        const response = await app.ask(method, `/inputs/${inputId}`, caller, body)
        await requireError(t, response, 404, 'RUN_ERR_INPUT_NOT_FOUND', `${name}: ${method}`)
      }
  }
  const answerer = app.as('eva', 'inputs:answer', 'agents:run')
  const listed = await listOf(await app.ask('GET', '/inputs', answerer))
  t.same(
    listed.map(({ inputId }) => inputId),
    [asked.inputId]
  )
  const path = `/inputs/${called.inputId}`
  await requireError(t, await app.ask('POST', path, answerer, answer), 404, 'RUN_ERR_INPUT_NOT_FOUND')
  t.equal((await app.ask('POST', `/inputs/${asked.inputId}`, answerer, answer)).status, 200)
  t.equal((await app.ask('POST', path, app.as('root', 'admin:*'), answer)).status, 200)
  const own = await startWaiting(app, ann, 'tool')
  t.equal((await app.ask('POST', `/inputs/${own.inputId}`, ann, answer)).status, 200)
})
