import { Type } from '@sinclair/typebox'
import type { Registry } from '@svc/registry'
import { Agent, defineTool, type AgentOptions } from '@svc/runtime'
import { scriptedModel, type Script } from '@svc/runtime/testing'
import {
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type UIMessage
} from 'ai'
import { callsOf, send } from '@tools/wires/agents'
import t from 'tap'
import { chatApp } from '../helpers/chat-app.ts'
import { TestChat, type TestMessage } from '../helpers/test-chat.ts'

const sendAutomaticallyWhen = (chat: { messages: UIMessage[] }) =>
  lastAssistantMessageIsCompleteWithToolCalls(chat) ||
  lastAssistantMessageIsCompleteWithApprovalResponses(chat)
const ask = defineTool({
  name: 'ask',
  description: 'Asks the user',
  input: Type.Object({ what: Type.String() }),
  async execute({ what }, context) {
    const { action, content } = await context.ask({
      message: `Which ${what}?`,
      schema: Type.String({ minLength: 2 })
    })
    return action === 'accept' ? `chose ${String(content)}` : 'no choice'
  }
})
const locate = {
  name: 'locate',
  description: 'Where the user is',
  input: { type: 'object', properties: {} }
}

function agentOf(script: Script, options: Partial<AgentOptions> = {}) {
  const model = scriptedModel(script)
  const add = (registry: Registry) =>
    new Agent({ name: 'support', model, registry, tools: [send, ask], ...options })
  return { model, add }
}

t.test('approvals are given and refused, and the same message continues', async (t) => {
  const { add } = agentOf([callsOf(['send', { to: 'ann' }], ['send', { to: 'bob' }]), 'Done'])
  const { api } = await chatApp(t, { add })
  const chat = new TestChat(api('support'), { sendAutomaticallyWhen })
  await chat.sendMessage({ text: 'Mail both' })
  t.equal(chat.status, 'ready')
  t.equal(chat.lastMessage!.metadata!.status, 'input-required')
  const parts = toolsOf(chat)
  t.match(parts, [
    { state: 'approval-requested', input: { to: 'ann' } },
    { state: 'approval-requested', input: { to: 'bob' } }
  ])
  const [ann, bob] = parts.map(({ approval }) => approval!.id)
  await chat.addToolApprovalResponse({ id: ann!, approved: true })
  t.equal(chat.status, 'ready', 'it waits for the other response')
  await chat.addToolApprovalResponse({ id: bob!, approved: false, reason: 'Not him' })
  await chat.untilEnded()
  t.match(toolsOf(chat), [
    { state: 'output-available', output: 'sent to ann', approval: { approved: true } },
    { state: 'output-denied', approval: { approved: false, reason: 'Not him' } }
  ])
  t.equal(chat.text, 'Done')
  t.equal(chat.messages.length, 2, 'all of it is one answer')
  t.match(chat.lastMessage!.metadata, { status: 'completed', usage: { totalTokens: 21 } })
})

t.test('a new message while an approval is pending is refused at once, or ends the wait', async (t) => {
  const { add } = agentOf([
    callsOf(['send', { to: 'ann' }]),
    'Sent',
    callsOf(['send', { to: 'bob' }]),
    'Instead'
  ])
  const { api, runs } = await chatApp(t, { add })
  const chat = new TestChat(api('support'), { sendAutomaticallyWhen })
  await chat.sendMessage({ text: 'Mail ann' })
  const [approval] = toolsOf(chat)
  await chat.sendMessage({ text: 'And?' })
  t.equal(chat.status, 'error')
  t.match(JSON.parse(chat.error!.message), { code: 'UI_ERR_CHAT_WAITS', statusCode: 409 })
  chat.messages = chat.messages.slice(0, -1)
  await chat.addToolApprovalResponse({ id: approval!.approval!.id, approved: true })
  await chat.untilEnded()
  t.equal(chat.text, 'Sent', 'the answer continues')

  await chat.sendMessage({ text: 'Mail bob' })
  const { runId } = (await runs.list({ status: 'input-required', limit: 1 })).runs[0]!
  await chat.sendMessage({ text: 'Leave it' }, { body: { whenBusy: 'interrupt' } })
  t.equal(chat.text, 'Instead')
  t.match(await runs.find(runId), { status: 'canceled' })
})

t.test('tools of the client are answered by their output', async (t) => {
  const { add, model } = agentOf([callsOf(['locate', {}]), callsOf(['locate', {}]), 'You are there'])
  const { api } = await chatApp(t, { add, options: { clientTools: true } })
  let calls = 0
  const chat: TestChat = new TestChat(api('support'), {
    body: { tools: [locate] },
    sendAutomaticallyWhen,
    onToolCall({ toolCall: { toolCallId, toolName } }) {
      t.equal(toolName, 'locate')
      if (++calls === 1) void chat.addToolOutput({ tool: 'locate', toolCallId, output: { city: 'Oslo' } })
      else void chat.addToolOutput({ tool: 'locate', toolCallId, state: 'output-error', errorText: 'off' })
    }
  })
  await chat.sendMessage({ text: 'Where am I?' })
  await chat.untilEnded()
  const [first, second] = toolsOf(chat)
  t.match(first, { state: 'output-available', output: { city: 'Oslo' } })
  t.match(second, { state: 'output-error' })
  t.not(first!.toolCallId, second!.toolCallId, 'an id that is used again is another one')
  t.equal(chat.text, 'You are there')
  t.match(JSON.stringify(model.calls[1]!.prompt), /Oslo/)
})

t.test('a page neither executes nor answers what the agent has executed', async (t) => {
  const own = defineTool({
    name: 'count',
    description: 'Counts',
    input: Type.Object({}),
    execute: () => 7
  })
  const calls = callsOf(['count', {}], ['count', {}])
  const { add, model } = agentOf([calls, 'Seven', calls, 'Seven again'], { tools: [own] })
  const { api } = await chatApp(t, { add, options: { clientTools: true } })
  const asked: string[] = []
  const chat: TestChat = new TestChat(api('support'), {
    body: { tools: [locate] },
    sendAutomaticallyWhen,
    onToolCall: ({ toolCall }) => void asked.push(toolCall.toolName)
  })
  for (const text of ['How many?', 'Really?']) {
    await chat.sendMessage({ text })
    await chat.untilEnded()
  }
  t.strictSame(asked, [], 'no call is handed to the page')
  t.equal(model.calls.length, 4, 'and nothing is sent by itself')
  t.equal(chat.text, 'Seven again')
  t.match(toolsOf(chat), [{ providerExecuted: true, state: 'output-available', output: 7 }, {}])
})

t.test('a question is a tool that the user answers', async (t) => {
  const { add } = agentOf([callsOf(['ask', { what: 'size' }]), 'Fine'])
  const { api } = await chatApp(t, { add })
  const chat = new TestChat(api('support'), { sendAutomaticallyWhen })
  await chat.sendMessage({ text: 'Order' })
  const question = toolsOf(chat)[1]!
  t.match(question, {
    type: 'dynamic-tool',
    toolName: 'question',
    state: 'input-available',
    input: { message: 'Which size?', schema: { type: 'string' } }
  })
  const { toolCallId } = question
  await chat.addToolOutput({ tool: 'question', toolCallId, output: 'L' })
  await chat.untilEnded()
  t.equal(chat.status, 'error', 'an answer that does not fit is refused')
  t.match(JSON.parse(chat.error!.message), { code: 'RUN_ERR_BAD_INPUT', statusCode: 400 })
  await chat.addToolOutput({ tool: 'question', toolCallId, output: 'XL' })
  await chat.untilEnded()
  t.match(toolsOf(chat), [
    { type: 'tool-ask', state: 'output-available', output: 'chose XL' },
    { state: 'output-available', output: 'XL' }
  ])
  t.equal(chat.text, 'Fine')
})

t.test('a question is declined by the output of an error', async (t) => {
  const { add } = agentOf([callsOf(['ask', { what: 'size' }]), 'Fine'])
  const { api } = await chatApp(t, { add })
  const chat = new TestChat(api('support'), { sendAutomaticallyWhen })
  await chat.sendMessage({ text: 'Order' })
  const { toolCallId } = toolsOf(chat)[1]!
  await chat.addToolOutput({ tool: 'question', toolCallId, state: 'output-error', errorText: 'No' })
  await chat.untilEnded()
  t.match(toolsOf(chat)[0], { output: 'no choice' })
})

t.test('a page that is loaded again has what the run waits for, and answers it', async (t) => {
  const { add } = agentOf([callsOf(['send', { to: 'ann' }]), 'Done'])
  const { api } = await chatApp(t, { add })
  const first = new TestChat(api('support'))
  await first.sendMessage({ text: 'Mail' })
  const { messages } = (await (await fetch(`${api('support')}/${first.id}`)).json()) as {
    messages: TestMessage[]
  }
  t.strictSame(messages[1], JSON.parse(JSON.stringify(first.lastMessage)), 'history has the open approval')
  const page = new TestChat(api('support'), { id: first.id, messages, sendAutomaticallyWhen })
  await page.resumeStream()
  t.match(toolsOf(page), [{ state: 'approval-requested' }], 'the replay ends where the run waits')
  await page.addToolApprovalResponse({ id: toolsOf(page)[0]!.approval!.id, approved: true })
  await page.untilEnded()
  t.equal(page.text, 'Done')

  t.comment('a page that did not see it')
  await first.addToolApprovalResponse({ id: toolsOf(first)[0]!.approval!.id, approved: false })
  await first.sendMessage()
  t.equal(first.text, 'Done')
  t.match(toolsOf(first), [{ state: 'output-available' }], 'the first answer counts')
  await first.sendMessage()
  t.match(JSON.parse(first.error!.message), { code: 'UI_ERR_RUN_ENDED', statusCode: 409 })
})

t.test('a message that answers nothing is refused, and the run waits on', async (t) => {
  const { add } = agentOf([callsOf(['send', { to: 'ann' }]), 'Done'])
  const { api, runs } = await chatApp(t, { add })
  const chat = new TestChat(api('support'))
  await chat.sendMessage({ text: 'Mail' })
  await chat.sendMessage()
  t.match(JSON.parse(chat.error!.message), { code: 'UI_ERR_NOTHING_ANSWERED', statusCode: 400 })
  t.equal((await runs.find(chat.lastMessage!.id))!.status, 'input-required')
})

interface ToolPart {
  type: string
  toolCallId: string
  state: string
  approval?: { id: string }
}

function toolsOf({ lastMessage }: TestChat): ToolPart[] {
  return (lastMessage!.parts as unknown as ToolPart[]).filter(({ toolCallId }) => toolCallId !== undefined)
}
