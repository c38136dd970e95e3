import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import { pausing } from '@tools/wires/agents'
import t from 'tap'
import { chatApp } from '../helpers/chat-app.ts'
import { TestChat, textOf, type TestMessage } from '../helpers/test-chat.ts'

t.test('a lost connection, and another page: the stream is replayed whole', async (t) => {
  const { agent, go } = pausing()
  const { api, runs } = await chatApp(t, { runnables: [agent] })
  const cut = new AbortController()
  const chat = new TestChat(api('pausing'), {
    async fetch(input, init) {
      const response = await fetch(input, init)
      if (init?.method !== 'POST') return response
      const body = response.body!.pipeThrough(
        new TransformStream({
          start(controller) {
            cut.signal.addEventListener('abort', () => controller.error(new TypeError('network error')))
          }
        })
      )
      return new Response(body, response)
    }
  })
  const sent = chat.sendMessage({ text: 'Count' })
  await chat.until(({ text }) => text === 'one')
  cut.abort()
  await sent
  t.equal(chat.status, 'error')
  const [{ runId }] = [chat.lastMessage!.metadata!] as [{ runId: string }]
  t.equal((await runs.find(runId))!.status, 'working', 'the run continues')

  const { messages } = (await (await fetch(`${api('pausing')}/${chat.id}`)).json()) as {
    messages: TestMessage[]
  }
  t.same(messages.map(textOf), ['Count', 'one'], 'history has the run under way')
  const page = new TestChat(api('pausing'), { id: chat.id, messages })
  const resumed = [chat.resumeStream(), page.resumeStream()]
  await Promise.all([chat, page].map((each) => each.until(({ status }) => status === 'streaming')))
  go()
  await Promise.all(resumed)
  for (const each of [chat, page]) {
    t.same(each.messages.map(textOf), ['Count', 'one two'])
    t.equal(each.lastMessage!.id, runId)
    t.match(each.lastMessage!.metadata, { status: 'completed' })
    t.equal(each.status, 'ready')
  }
  t.equal((await fetch(`${api('pausing')}/${chat.id}/stream`)).status, 204, 'nothing runs')
  t.equal((await fetch(`${api('pausing')}/unknown/stream`)).status, 204)
})

t.test('stop leaves the run as it is, unless the request says otherwise', async (t) => {
  for (const onDisconnect of [undefined, 'cancel'] as const) {
    const { agent, go } = pausing()
    const { api, runs } = await chatApp(t, { runnables: [agent] })
    const chat = new TestChat(api('pausing'), { body: { ...(onDisconnect && { onDisconnect }) } })
    void chat.sendMessage({ text: 'Count' })
    await chat.until(({ text }) => text === 'one')
    await chat.stop()
    t.equal(chat.status, 'ready')
    if (onDisconnect === undefined) go()
    const parts = []
    for await (const part of runs.parts(chat.lastMessage!.id)) parts.push(part)
    t.match(parts.at(-1), { finishReason: onDisconnect === undefined ? 'stop' : 'canceled' })
  }
})

t.test('the run under way is canceled by DELETE', async (t) => {
  const { agent } = pausing()
  const { api, runs } = await chatApp(t, { runnables: [agent] })
  const chat = new TestChat(api('pausing'))
  const sent = chat.sendMessage({ text: 'Count' })
  await chat.until(({ text }) => text === 'one')
  const cancel = () => fetch(`${api('pausing')}/${chat.id}/stream`, { method: 'DELETE' })
  t.equal((await cancel()).status, 204)
  await sent
  t.equal(chat.status, 'ready')
  t.match(chat.lastMessage!.metadata, { status: 'canceled', finishReason: 'canceled' })
  t.equal((await runs.find(chat.lastMessage!.id))!.status, 'canceled')
  t.equal((await cancel()).status, 204, 'also if nothing runs')
})

t.test('a message that is sent twice is one run', async (t) => {
  const model = scriptedModel(['once'])
  const { api } = await chatApp(t, { add: (registry) => new Agent({ name: 'support', model, registry }) })
  const send = async (text = 'Hi') => {
    const message = { id: 'm1', role: 'user', parts: [{ type: 'text', text }] }
    const response = await fetch(api('support'), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ id: 'c1', messages: [message], trigger: 'submit-message' })
    })
    return { text: await response.text(), headers: response.headers }
  }
  const [first, again] = [await send(), await send()]
  t.equal(first.headers.get('x-vercel-ai-ui-message-stream'), 'v1')
  t.match(first.headers.get('content-type'), 'text/event-stream')
  t.equal(again.text, first.text, 'the stream of the same run')
  t.match(first.text, /data: \[DONE\]\n\n$/)
  t.equal(model.calls.length, 1)
  t.not((await send('Ho')).headers.get('x-run-id'), first.headers.get('x-run-id'))
})

t.test('while the session is busy a message waits or is refused', async (t) => {
  const { promise: may, resolve: go } = Promise.withResolvers<void>()
  const model = scriptedModel((_, index) => `answer ${index}`)
  const slow = {
    ...model,
    doStream: async (call: Parameters<typeof model.doStream>[0]) => (await may, model.doStream(call))
  }
  const { api } = await chatApp(t, {
    add: (registry) => new Agent({ name: 'support', model: slow, registry })
  })
  const { promise: notice, resolve: notify } = Promise.withResolvers<unknown>()
  const first = new TestChat(api('support'))
  const second = new TestChat(api('support'), {
    id: first.id,
    onData: notify
  })
  const sent = [first.sendMessage({ text: 'one' })]
  await first.until(({ lastMessage }) => lastMessage?.role === 'assistant')
  sent.push(second.sendMessage({ text: 'two' }))
  t.match(await notice, { type: 'data-queue', data: { position: 1 } }, 'its place is transient data')
  const refused = new TestChat(api('support'), { id: first.id, body: { whenBusy: 'reject' } })
  await refused.sendMessage({ text: 'three' })
  t.match(JSON.parse(refused.error!.message), { code: 'RUN_ERR_SESSION_BUSY', runId: first.lastMessage!.id })
  go()
  await Promise.all(sent)
  t.same([first.text, second.text], ['answer 0', 'answer 1'])
})
