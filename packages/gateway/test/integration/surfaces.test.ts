import { scriptedRunnable } from '@svc/testing'
import t from 'tap'
import { buildGateway, echo, Inbox, textOf } from '../helpers/build-gateway.ts'

const call = { toolCallId: 'c1', toolName: 'pay' }
const paying = scriptedRunnable(
  [
    { type: 'text', text: 'wait ' },
    { type: 'tool.call', ...call, args: { amount: 5 } },
    async ({ approvals }) => void (await approvals.request({ ...call, args: { amount: 5 } })),
    { type: 'tool.result', ...call, result: 'paid', durationMs: 1 },
    { type: 'text', text: 'done' }
  ],
  { name: 'paying' }
)
const json = { 'content-type': 'application/json' }

t.test(
  'a run started over HTTP is watched and approved from a socket, and its stream shows it',
  async (t) => {
    const { connect, origin } = await buildGateway(t, { runnables: [paying], http: {} })
    const body = JSON.stringify({ input: 'Go' })
    const streaming = await fetch(`${origin}/api/agents/paying/stream`, {
      method: 'POST',
      headers: json,
      body
    })
    const runId = streaming.headers.get('x-run-id')!

    const client = await connect()
    const inbox = new Inbox(client)
    const { status } = (await client.emitWithAck('run.watch', { runId })) as { status: string }
    t.match(status, /working|input-required/)
    const { approvalId } = await inbox.first('agent.approval')
    const answer = { approvalId: String(approvalId), approved: true, reason: 'fine', args: { amount: 4 } }
    t.strictSame(await client.emitWithAck('approval.answer', answer), { ok: true })
    t.match(await client.emitWithAck('approval.answer', answer), { code: 'RUN_ERR_INPUT_ANSWERED' })

    const events = await inbox.untilEnd(runId)
    t.equal(textOf(events), 'wait done')
    const parts = (await streaming.text())
      .split('\n')
      .filter((line) => line.startsWith('data: '))
      .map((line) => JSON.parse(line.slice(6)) as { type: string; seq: number })
    t.match(
      parts.find(({ type }) => type === 'tool.approval.response'),
      { approvalId, approved: true, reason: 'fine', args: { amount: 4 } }
    )
    const seqs = new Set(parts.map(({ seq }) => seq))
    t.ok(
      events.every(({ seq }) => seqs.has(seq)),
      'both tell of the same parts'
    )
  }
)

t.test('a run started from a socket is read, followed and approved over HTTP', async (t) => {
  const { connect, origin } = await buildGateway(t, { runnables: [paying, echo], http: {} })
  const client = await connect()
  const inbox = new Inbox(client)
  const { runId } = (await client.emitWithAck('agent.run', { name: 'paying', input: 'Go' })) as {
    runId: string
  }
  const { approvalId } = await inbox.first('agent.approval')
  const record = await (await fetch(`${origin}/api/runs/${runId}`)).json()
  t.match(record, { runId, status: 'input-required', pendingApprovals: [{ approvalId }] })
  const following = fetch(`${origin}/api/runs/${runId}/stream`)
  const answered = await fetch(`${origin}/api/approvals/${String(approvalId)}`, {
    method: 'POST',
    headers: json,
    body: '{"approved":true}'
  })
  t.equal(answered.status, 200)
  t.match(await (await following).text(), /"type":"finish"/)
  t.match((await inbox.untilEnd(runId)).at(-1), { event: 'agent.done', output: { text: 'wait done' } })
  t.match(await (await fetch(`${origin}/api/runs/${runId}`)).json(), { status: 'completed' })
})
