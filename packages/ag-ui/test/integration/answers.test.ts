import { Type } from '@sinclair/typebox'
import type { Registry } from '@svc/registry'
import { Agent, defineTool, Team, type AgentOptions } from '@svc/runtime'
import { scriptedModel, type Script } from '@svc/runtime/testing'
import { callsOf, send } from '@tools/wires/agents'
import t from 'tap'
import { agUiApp } from '../helpers/agui-app.ts'
import { TestAgent } from '../helpers/test-agent.ts'

const ask = defineTool({
  name: 'ask',
  description: 'Asks the user',
  input: Type.Object({ what: Type.String() }),
  async execute({ what }, context) {
    const { action, content } = await context.ask({
      message: `Which ${what}?`,
      schema: Type.String({ minLength: 2 })
    })
    return action === 'accept' ? `chose ${String(content)}` : `no choice: ${action}`
  }
})
const locate = { name: 'locate', description: 'Where the user is', parameters: { type: 'object' } }

function agentOf(script: Script, options: Partial<AgentOptions> = {}) {
  const model = scriptedModel(script)
  const add = (registry: Registry) =>
    new Agent({ name: 'support', model, registry, tools: [send, ask], ...options })
  return { model, add }
}

const resolved = (interruptId: string, payload?: unknown) => ({
  interruptId,
  status: 'resolved' as const,
  ...(payload !== undefined && { payload })
})

t.test('approvals are interrupts: given, refused, and with other arguments', async (t) => {
  const { add } = agentOf([
    callsOf(['send', { to: 'ann' }], ['send', { to: 'bob' }], ['send', { to: 'cid' }]),
    'Done'
  ])
  const { url, runs } = await agUiApp(t, { add })
  const agent = new TestAgent({ url: url('support') })
  await agent.say('Mail all')
  const [ann, bob, cid] = agent.pendingInterrupts
  const calls = agent.messages.at(-1)!
  t.match(ann, {
    reason: 'tool_call',
    message: 'May the tool "send" be called?',
    toolCallId: (calls as { toolCalls: { id: string }[] }).toolCalls[0]!.id,
    responseSchema: { required: ['approved'] },
    expiresAt: String
  })
  const run = agent.runId
  t.equal((await runs.find(run))!.status, 'input-required')
  await t.rejects(agent.say('And?'), /pending interrupt/, 'the client itself refuses to go on')
  agent.messages.pop()

  await agent.runAgent({
    resume: [
      resolved(ann!.id, { approved: true }),
      resolved(bob!.id, { approved: false, reason: 'Not him' }),
      resolved(cid!.id, { approved: true, editedArgs: { to: 'eve' } })
    ]
  })
  const results = agent.messages.filter(({ role }) => role === 'tool')
  t.same(results.map(({ content }) => content as string).toSorted(), [
    'The call was denied: Not him',
    'sent to ann',
    'sent to eve'
  ])
  t.match(results.find(({ content }) => content === 'sent to eve')!.metadata, { args: { to: 'eve' } })
  t.equal(agent.text, 'Done')
  t.same(agent.pendingInterrupts, [])
  t.match(agent.of('RUN_STARTED')[1]!['runId'], new RegExp(`^${run}_\\d+$`), 'a part of the same run')
  t.equal(agent.of('TOOL_CALL_START').length, 3, 'no call is made again')
})

t.test('cancelled interrupts: an approval is refused, a question goes without an answer', async (t) => {
  const { add } = agentOf([callsOf(['send', { to: 'ann' }], ['ask', { what: 'size' }]), 'Fine'])
  const { url } = await agUiApp(t, { add })
  const agent = new TestAgent({ url: url('support') })
  await agent.say('Go')
  const resume = agent.pendingInterrupts.map(({ id }) => ({ interruptId: id, status: 'cancelled' as const }))
  await agent.runAgent({ resume })
  t.match(
    agent.messages
      .filter(({ role }) => role === 'tool')
      .map(({ content }) => content as string)
      .toSorted(),
    [/denied|approv/i, 'no choice: cancel']
  )
})

t.test('a question is an interrupt with the schema of its answer', async (t) => {
  const { add } = agentOf([callsOf(['ask', { what: 'size' }]), 'Fine'])
  const { url } = await agUiApp(t, { add })
  const agent = new TestAgent({ url: url('support') })
  await agent.say('Order')
  const [question] = agent.pendingInterrupts
  t.match(question, {
    reason: 'input_required',
    message: 'Which size?',
    responseSchema: { type: 'string', minLength: 2 }
  })
  await t.rejects(agent.runAgent({ resume: [resolved(question!.id, 'L')] }), {
    message: /^HTTP 400: {"type":"RUN_ERROR",.*"code":"RUN_ERR_BAD_INPUT"/
  })
  await agent.runAgent({ resume: [resolved(question!.id, 'XL')] })
  t.match(
    agent.messages.find(({ role }) => role === 'tool'),
    { content: 'chose XL' }
  )
  t.equal(agent.text, 'Fine')
})

t.test('tools of the client: their calls are pending, and tool messages answer them', async (t) => {
  const { add, model } = agentOf([
    callsOf(['locate', {}], ['locate', { near: true }]),
    callsOf(['locate', {}]),
    'You are there'
  ])
  const { url } = await agUiApp(t, { add, options: { clientTools: true } })
  const agent = new TestAgent({ url: url('support') })
  const answer = (content: string, error?: string) => {
    const { outcome } = agent.events.at(-1) as unknown as { outcome: { pendingToolCallIds: string[] } }
    for (const toolCallId of outcome.pendingToolCallIds)
      agent.addMessage({
        id: `result of ${toolCallId}`,
        role: 'tool',
        toolCallId,
        content,
        ...(error !== undefined && { error })
      })
    return outcome.pendingToolCallIds
  }
  await agent.say('Where am I?', { tools: [locate] })
  t.equal(answer('{"city":"Oslo"}').length, 2)
  await agent.runAgent({ tools: [locate] })
  t.equal(answer('', 'off').length, 1, 'an id that the model uses again is another one')
  await agent.runAgent({ tools: [locate] })
  t.equal(agent.text, 'You are there')
  t.equal(agent.of('TOOL_CALL_RESULT').length, 0, 'the client has the results already')
  t.equal(agent.messages.filter(({ role }) => role === 'tool').length, 3)
  t.match(JSON.stringify(model.calls[1]!.prompt), /Oslo.*Oslo/)
  t.match(JSON.stringify(model.calls[2]!.prompt), /RUN_ERR|declined/i)

  const page = new TestAgent({ url: url('support'), threadId: agent.threadId })
  await page.connectAgent()
  t.equal(page.of('TOOL_CALL_RESULT').length, 3, 'another page gets them')
})

t.test('an approval and a tool of the client at once: what is left is pending', async (t) => {
  const { add } = agentOf([callsOf(['send', { to: 'ann' }], ['locate', {}]), 'Done'])
  const { url } = await agUiApp(t, { add, options: { clientTools: true } })
  const agent = new TestAgent({ url: url('support') })
  await agent.say('Go', { tools: [locate] })
  const [approval] = agent.pendingInterrupts
  t.equal(agent.pendingInterrupts.length, 1, 'the tool is no interrupt')
  await agent.runAgent({ resume: [resolved(approval!.id, true)] })
  t.match(agent.of('TOOL_CALL_RESULT'), [{ content: 'sent to ann' }])
  const [toolCallId] = (agent.events.at(-1) as unknown as { outcome: { pendingToolCallIds: string[] } })
    .outcome.pendingToolCallIds
  agent.addMessage({ id: 'here', role: 'tool', toolCallId: toolCallId!, content: 'here' })
  await agent.runAgent()
  t.equal(agent.text, 'Done')
  t.equal(agent.of('TOOL_CALL_RESULT').length, 1)
})

t.test('a member that waits is suspended, and continues under the same id', async (t) => {
  const { url } = await agUiApp(t, {
    add(registry) {
      const model = scriptedModel([callsOf(['send', { to: 'ann' }]), 'Sent'])
      const ada = new Agent({ name: 'ada', model, registry, tools: [send] })
      const bob = new Agent({ name: 'bob', model: scriptedModel('Bob says'), registry })
      new Team({ name: 'crew', mode: 'sequence', members: [ada, bob], registry })
    }
  })
  const crew = new TestAgent({ url: url('team/crew') })
  await crew.say('Go')
  const [approval] = crew.pendingInterrupts
  const { subagentRunId } = crew.of('SUBAGENT_STARTED')[0]!
  t.equal(approval!.subagentRunId, subagentRunId)
  t.match(crew.of('SUBAGENT_FINISHED'), [
    { subagentRunId, outcome: { type: 'suspended', interruptIds: [approval!.id] } }
  ])
  await crew.runAgent({ resume: [resolved(approval!.id, true)] })
  t.match(crew.of('SUBAGENT_STARTED')[1], { subagentRunId, name: 'ada' })
  t.equal(crew.text, 'Bob says')
})

t.test('a request that is sent again gets the same, and a page that did not see it the rest', async (t) => {
  const { add, model } = agentOf([callsOf(['send', { to: 'ann' }]), 'Done', 'Next'])
  const { url } = await agUiApp(t, { add })
  const first = new TestAgent({ url: url('support') })
  await first.say('Mail', { runId: 'r1' })
  const page = new TestAgent({ url: url('support'), threadId: first.threadId })
  await page.connectAgent()
  t.same(
    page.pendingInterrupts,
    first.pendingInterrupts,
    'a page that is loaded again has what the run waits for'
  )
  const { id } = page.pendingInterrupts[0]!
  await page.runAgent({ resume: [resolved(id, true)] })
  t.equal(page.text, 'Done')

  await first.runAgent({ resume: [resolved(id, false)] })
  t.equal(first.text, 'Done', 'the first answer counts')
  t.match(
    first.messages.find(({ role }) => role === 'tool'),
    { content: 'sent to ann' }
  )
  first.pendingInterrupts = []
  const length = first.events.length
  await first.runAgent({ resume: [resolved(id, true)] })
  t.same(
    first.events.slice(length).map(({ type }) => type),
    page.events.slice(-first.events.length + length).map(({ type }) => type)
  )
  t.equal(model.calls.length, 2)
})

t.test('a message to a thread that waits is refused, unless the request says what happens', async (t) => {
  const { add } = agentOf([callsOf(['send', { to: 'ann' }]), 'Next'])
  const { url, runs } = await agUiApp(t, { add })
  const agent = new TestAgent({ url: url('support') })
  await agent.say('Mail')
  const { runId } = agent
  agent.pendingInterrupts = []
  await t.rejects(agent.say('And?'), { message: /^HTTP 409: .*AGUI_ERR_THREAD_WAITS/ })
  t.equal((await runs.find(runId))!.status, 'input-required')
  await agent.runAgent({ forwardedProps: { svc: { whenBusy: 'interrupt' } } })
  t.equal(agent.text, 'Next')
  t.equal((await runs.find(runId))!.status, 'canceled')
})

t.test('an answer that came too late for a run that never waited for it', async (t) => {
  const { promise: may, resolve: go } = Promise.withResolvers<void>()
  const slow = defineTool({
    name: 'slow',
    description: 'Takes its time',
    input: Type.Object({}),
    execute: async () => (await may, 'done')
  })
  const { add } = agentOf([callsOf(['send', { to: 'ann' }], ['slow', {}]), 'Done'], { tools: [send, slow] })
  const { url, runs } = await agUiApp(t, { add })
  const agent = new TestAgent({ url: url('support') })
  const sent = agent.say('Go')
  await agent.until(({ messages }) => messages.length > 1)
  let approvalId = ''
  for await (const part of runs.parts(agent.runId))
    if (part.type === 'tool.approval.request') {
      approvalId = part.approvalId
      break
    }
  await runs.answer(approvalId, { approved: true })
  go()
  await sent
  t.equal(agent.text, 'Done')
  await t.rejects(agent.runAgent({ resume: [resolved(approvalId, true)] }), {
    message: /^HTTP 409: .*AGUI_ERR_RUN_ENDED/
  })
})
