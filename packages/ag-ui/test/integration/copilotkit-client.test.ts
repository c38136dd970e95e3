import { HttpAgent } from '@ag-ui/client-of-copilotkit'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import { send } from '@tools/wires/agents'
import t from 'tap'
import { agUiApp } from '../helpers/agui-app.ts'

// The last client before version 1.0, on which CopilotKit and assistant-ui build, refuses events and outcomes that it does not know.

const locate = { name: 'locate', description: 'Where the user is', parameters: null }
type Ends = { type: string; outcome?: unknown; metadata?: unknown }[]

function listenTo(agent: HttpAgent): Ends {
  const ends: Ends = []
  agent.subscribe({ onRunFinishedEvent: ({ event }) => void ends.push(event as unknown as Ends[number]) })
  return ends
}

t.test('approvals, tools of the client, and their results', async (t) => {
  const model = scriptedModel([
    { reasoning: 'Hm', toolCalls: [{ toolName: 'send', args: { to: 'ann' } }] },
    { toolCalls: [{ toolName: 'locate', args: {} }] },
    'There'
  ])
  const { url } = await agUiApp(t, {
    add: (registry) => new Agent({ name: 'support', model, registry, tools: [send] }),
    options: { clientTools: true }
  })
  const agent = new HttpAgent({ url: url('support') })
  const ends = listenTo(agent)
  agent.addMessage({ id: 'm1', role: 'user', content: 'Go' })
  await agent.runAgent({ tools: [locate] })
  const [approval] = agent.pendingInterrupts
  t.match(approval, { reason: 'tool_call', toolCallId: String })

  t.comment('as CopilotKit answers: with `resume`, and a tool message that has the payload')
  agent.addMessage({
    id: 'm2',
    role: 'tool',
    toolCallId: approval!.toolCallId!,
    content: '{"approved":true}'
  })
  await agent.runAgent({
    resume: [{ interruptId: approval!.id, status: 'resolved', payload: { approved: true } }]
  })
  t.ok(agent.messages.some(({ role, content }) => role === 'tool' && content === 'sent to ann'))
  t.strictSame(ends[1]!.outcome, { type: 'success' }, 'it finds the pending call by itself')
  const call = agent.messages.findLast(({ role }) => role === 'assistant') as { toolCalls: { id: string }[] }
  agent.addMessage({ id: 'm3', role: 'tool', toolCallId: call.toolCalls[0]!.id, content: 'Oslo' })
  await agent.runAgent()
  t.equal(agent.messages.at(-1)!.content, 'There')
  t.match(JSON.stringify(model.calls[2]!.prompt), /Oslo/)
})

t.test('a run that is canceled', async (t) => {
  const model = scriptedModel([{ text: ['one'], hangs: 'stream' }])
  const { url } = await agUiApp(t, { add: (registry) => new Agent({ name: 'support', model, registry }) })
  const agent = new HttpAgent({ url: url('support') })
  const ends = listenTo(agent)
  agent.addMessage({ id: 'm1', role: 'user', content: 'Go' })
  const { promise: began, resolve: begin } = Promise.withResolvers<void>()
  const sent = agent.runAgent({}, { onTextMessageContentEvent: () => begin() })
  await began
  await fetch(`${url('support')}/threads/${agent.threadId}/run`, { method: 'DELETE' })
  await sent
  t.match(ends, [{ metadata: { finishReason: 'canceled' } }])
  t.equal(ends[0]!.outcome, undefined)
})
