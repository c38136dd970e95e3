import { Type } from '@sinclair/typebox'
import { errors as codes } from '@svc/registry'
import { defineTool, errors, type ToolContext } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import t from 'tap'
import { makeAgent } from '../helpers/make-agent.ts'
import { makeTeam, runIn } from '../helpers/make-team.ts'
import { makeWorkflow } from '../helpers/make-workflow.ts'

const reason = 'This account is not yours'
const rejected = { code: 'RUN_ERR_REJECTED', message: reason, statusCode: 422, retryable: false }
const Empty = Type.Object({})

function reject(): never {
  throw new errors.RUN_ERR_REJECTED(reason)
}

function rejecting(execute: (args: object, context: ToolContext) => unknown = reject) {
  return defineTool({ name: 'pay', description: 'Pays', input: Empty, execute })
}

const call = { toolCalls: [{ toolName: 'pay', toolCallId: 'c', args: {} }] }

t.test('a tool that rejects ends the run: its model does not see why', async (t) => {
  t.equal(errors.RUN_ERR_REJECTED, codes.RUN_ERR_REJECTED)
  const inner = defineTool({ name: 'inner', description: 'Pays', input: Empty, execute: reject })
  const ways = {
    'in its execution': rejecting(),
    'in a tool that it calls': rejecting((_args, { callTool }) => callTool(inner, {}).catch(() => 'paid'))
  }
  for (const [way, tool] of Object.entries(ways)) {
    const { agent, model } = makeAgent([call, 'never'], { tools: [tool] })
    const { error, record, parts } = await runIn(agent)
    t.match(error, rejected, way)
    t.match(record, { status: 'failed', error: rejected })
    t.notOk(parts.some(({ type }) => type === 'tool.error'))
    t.match(parts.at(-1), { type: 'error', error: { code: 'RUN_ERR_REJECTED', message: reason } })
    t.equal(model.calls.length, 1)
  }
})

t.test('a step of a workflow that rejects is not repeated', async (t) => {
  let attempts = 0
  const pay = () => {
    attempts++
    reject()
  }
  const flow = makeWorkflow((steps) => steps.step('pay', pay, { retry: { attempts: 3, baseDelay: 1 } }))
  t.match(await runIn(flow), { error: rejected, record: { status: 'failed' } })
  t.equal(attempts, 1)
  const { agent } = makeAgent([call], { tools: [rejecting()] })
  t.match(await runIn(makeWorkflow((steps) => steps.step('pay', agent))), {
    error: rejected,
    record: { status: 'failed' }
  })
})

t.test('to its team, a member that rejects is a member that failed', async (t) => {
  const payer = () => makeAgent([call], { name: 'payer', tools: [rejecting()] }).agent
  t.match((await runIn(makeTeam({ mode: 'sequence', members: [payer()] }))).error, rejected)
  const model = scriptedModel(({ prompt }) =>
    prompt.at(-1)?.role === 'tool'
      ? JSON.stringify(prompt.at(-1)!.content)
      : { toolCalls: [{ toolName: 'payer', toolCallId: 'c', args: { message: 'Pay' } }] }
  )
  const led = makeTeam({ mode: 'coordinate', model, members: [payer()] })
  t.match((await runIn(led)).result?.text, reason)
})
