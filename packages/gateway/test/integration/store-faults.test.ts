import { createInProcessStores, type RunContext } from '@svc/registry'
import { createFailingStores, scriptedRunnable } from '@svc/testing'
import t from 'tap'
import { buildGateway, Inbox } from '../helpers/build-gateway.ts'

const ask = async ({ approvals }: RunContext) =>
  approvals.request({ toolCallId: 'c', toolName: 'send', args: {} })

t.test('while a store fails, events that need it are refused, and the socket stays', async (t) => {
  const { stores, fail, work } = createFailingStores(createInProcessStores())
  const asking = scriptedRunnable([ask], { name: 'asking' })
  const { connect } = await buildGateway(t, { runnables: [asking], engine: { stores } })
  const client = await connect()
  const inbox = new Inbox(client)
  const answer = await client.emitWithAck('agent.run', {
    name: 'asking',
    input: 'Go',
    onDisconnect: 'continue'
  })
  const { runId } = answer as { runId: string }
  const { approvalId } = await inbox.first('agent.approval')
  fail(new Error('connection refused at secret-host'))
  const refused = { error: 'A store is not available', code: 'RUN_ERR_STORE' }
  t.same(await client.emitWithAck('run.watch', { runId }), refused)
  t.same(await client.emitWithAck('run.cancel', { runId }), refused)
  t.same(await client.emitWithAck('run.file', { runId, fileId: 'x' }), refused)
  t.same(
    await client.emitWithAck('approval.answer', { approvalId: String(approvalId), approved: true }),
    refused
  )
  t.same(await client.emitWithAck('input.answer', { inputId: 'x.1', action: 'cancel' }), refused)
  t.same(await client.emitWithAck('agent.run', { name: 'asking', input: 'Go' }), refused)
  work()
  t.same(await client.emitWithAck('run.watch', { runId }), { status: 'input-required' })
})
