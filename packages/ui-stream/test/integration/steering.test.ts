import { Chat } from '@ai-sdk/vue'
import { Type } from '@sinclair/typebox'
import { Agent, defineTool } from '@svc/runtime'
import { scriptedModel, type Script } from '@svc/runtime/testing'
import type { UiStreamOptions } from '@svc/ui-stream'
import { callsOf } from '@tools/wires/agents'
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithToolCalls, uiMessageChunkSchema } from 'ai'
import * as oldest from 'ai-of-svelte'
import t, { type Test } from 'tap'
import { chatApp } from '../helpers/chat-app.ts'
import { TestChat, textOf, type TestMessage } from '../helpers/test-chat.ts'

/** A chat whose agent calls a tool that waits for `go`. */
async function serve(t: Test, script: Script, options: UiStreamOptions = {}) {
  const gates: (() => void)[] = []
  const wait = defineTool({
    name: 'wait',
    description: 'Waits',
    input: Type.Object({}),
    execute: () => new Promise<string>((resolve) => gates.push(() => resolve('done')))
  })
  const model = scriptedModel(script)
  const app = await chatApp(t, {
    options,
    add: (registry) => new Agent({ name: 'support', model, registry, tools: [wait] })
  })
  const go = async () => {
    while (gates.length === 0) await new Promise((resolve) => setImmediate(resolve))
    gates.shift()!()
  }
  return { ...app, model, go }
}

const typesOf = (message: TestMessage | undefined) => (message?.parts ?? []).map(({ type }) => type)
const calls = callsOf(['wait', {}])

/** A page whose message starts a run, and another page whose message joins it. */
async function steer(t: Test, options?: UiStreamOptions) {
  const { api, go, model } = await serve(t, [calls, 'It is 14 °C'], options)
  const page = new TestChat(api('support'))
  const sent = [page.sendMessage({ text: 'Paris?' })]
  await page.until(({ lastMessage }) => typesOf(lastMessage).includes('tool-wait'))
  const other = new TestChat(api('support'), { id: page.id, messages: page.messages })
  sent.push(other.sendMessage({ text: 'In Texas' }, { body: { whenBusy: 'steer' } }))
  await other.until(({ status }) => status === 'streaming')
  await go()
  await Promise.all(sent)
  t.match(JSON.stringify(model.calls[1]!.prompt), /Paris\?.*In Texas/)
  const history = await fetch(`${api('support')}/${page.id}`)
  const { messages } = (await history.json()) as { messages: TestMessage[] }
  const shown = JSON.parse(JSON.stringify(page.lastMessage!.parts)) as unknown
  t.same(messages.at(-1)!.parts, shown, 'the chat has it as it was streamed')
  const same = other.messages.find(({ id }) => id === page.lastMessage!.id)
  t.same(same?.parts, page.lastMessage!.parts, 'and so has the page that sent it')
  return page
}

t.test('a message that joins the run is a part before the step that reads it', async (t) => {
  const page = await steer(t, { steeringMessages: true })
  t.same(typesOf(page.lastMessage), ['step-start', 'tool-wait', 'steering-message', 'step-start', 'text'])
  t.match(page.lastMessage!.parts[2], { id: String, parts: [{ type: 'text', text: 'In Texas' }] })
})

t.test('unless the app has asked for it, it is data', async (t) => {
  const page = await steer(t)
  t.same(typesOf(page.lastMessage), ['step-start', 'tool-wait', 'data-steer', 'step-start', 'text'])
})

t.test('the releases of Vue and Svelte do not take steering messages yet', async (t) => {
  const chunk = { type: 'steering-message', id: 's', parts: [{ type: 'text', text: 'In Texas' }] }
  t.match(await uiMessageChunkSchema().validate!(chunk), { success: true })
  t.match(
    await oldest.uiMessageChunkSchema().validate!(chunk),
    { success: false },
    'they could have it by default'
  )
  const body = [{ type: 'start', messageId: 'm' }, chunk].map((each) => `data: ${JSON.stringify(each)}\n\n`)
  const transport = new DefaultChatTransport({
    api: '/chat',
    fetch: async () => new Response(body.join(''))
  })
  type Transport = NonNullable<ConstructorParameters<typeof Chat>[0]['transport']>
  const vue = new Chat({ transport: transport as unknown as Transport })
  await vue.sendMessage({ text: 'Paris?' })
  t.notMatch(
    vue.messages.at(-1)!.parts.map(({ type }) => type),
    ['steering-message'],
    'it could have it by default'
  )
})

t.test(
  'the queue of the page: its messages are sent one after the other, and stand so in the session',
  async (t) => {
    const { api, go, model } = await serve(t, [calls, 'one', 'two', 'three'])
    const page = new TestChat(api('support'), { experimental_queue: true })
    const first = page.sendMessage({ text: 'a' })
    await page.until(({ lastMessage }) => typesOf(lastMessage).includes('tool-wait'))
    await page.sendMessage({ text: 'b' })
    await page.sendMessage({ text: 'c' })
    t.same(page.experimental_queuedMessages.map(textOf), ['b', 'c'])
    t.equal(model.calls.length, 1)
    await go()
    await first
    await page.until(({ messages, status }) => messages.length === 6 && status === 'ready')
    t.same(page.messages.map(textOf), ['a', 'one', 'b', 'two', 'c', 'three'])
    const history = (await (await fetch(`${api('support')}/${page.id}`)).json()) as {
      messages: TestMessage[]
    }
    t.same(history.messages.map(textOf), ['a', 'one', 'b', 'two', 'c', 'three'])
  }
)

t.test('the queue of the page: a message that is sent now ends the run, or waits for it', async (t) => {
  for (const whenBusy of ['interrupt', 'queue'] as const) {
    const { api, go, runs } = await serve(t, [calls, 'one', 'two'])
    const page = new TestChat(api('support'), { experimental_queue: true })
    const first = page.sendMessage({ text: 'a' })
    await page.until(({ lastMessage }) => typesOf(lastMessage).includes('tool-wait'))
    const runId = page.lastMessage!.id
    await page.sendMessage({ text: 'b' }, { body: { whenBusy } })
    const [queued] = page.experimental_queuedMessages
    const sent = page.experimental_sendQueuedMessageNow(queued!.id)
    await first
    if (whenBusy === 'queue') {
      await page.until(({ messages }) => messages.length >= 3)
      t.equal((await runs.get(runId))?.status, 'working', 'stopping a stream does not stop its run')
      await go()
    }
    await sent
    t.match(await runs.get(runId), { status: whenBusy === 'queue' ? 'completed' : 'canceled' })
    t.equal(textOf(page.lastMessage), whenBusy === 'queue' ? 'two' : 'one')
  }
})

t.test('the queue of the page waits while the answer waits for the user', async (t) => {
  const tools = [{ name: 'locate', description: 'Where', input: { type: 'object', properties: {} } }]
  const { api, model } = await serve(t, [callsOf(['locate', {}]), 'In Oslo', 'Bye'], { clientTools: true })
  const page = new TestChat(api('support'), {
    body: { tools },
    experimental_queue: true,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls
  })
  await page.sendMessage({ text: 'Where am I?' })
  await page.sendMessage({ text: 'Thanks' })
  t.same(page.experimental_queuedMessages.map(textOf), ['Thanks'])
  t.equal(model.calls.length, 1, 'nothing is sent that the service would refuse')
  const part = page.lastMessage!.parts.find(({ type }) => type === 'tool-locate') as { toolCallId: string }
  await page.addToolOutput({ tool: 'locate', toolCallId: part.toolCallId, output: 'Oslo' })
  await page.until(({ messages, status }) => messages.length === 4 && status === 'ready')
  t.same(page.messages.map(textOf), ['Where am I?', 'In Oslo', 'Thanks', 'Bye'])
})
