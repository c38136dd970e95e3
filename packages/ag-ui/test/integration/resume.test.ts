import { Type } from '@sinclair/typebox'
import { Agent, defineTool } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import { pausing } from '@tools/wires/agents'
import t from 'tap'
import { agUiApp } from '../helpers/agui-app.ts'
import { TestAgent } from '../helpers/test-agent.ts'

t.test('a lost connection, and another page: the thread is replayed whole, and followed', async (t) => {
  const { agent, go } = pausing()
  const { url, runs } = await agUiApp(t, { runnables: [agent] })
  const page = new TestAgent({ url: url('pausing') })
  const sent = page.say('Count')
  await page.until(({ text }) => text === 'one')
  page.abortRun()
  await sent
  const { runId } = page
  t.equal((await runs.find(runId))!.status, 'working', 'the run continues')

  const other = new TestAgent({ url: url('pausing'), threadId: page.threadId })
  const followed = [page.connectAgent(), other.connectAgent()]
  await Promise.all([page, other].map((each) => each.until(({ text }) => text === 'one')))
  go()
  await Promise.all(followed)
  for (const each of [page, other]) {
    t.same(each.said, [
      ['user', 'Count'],
      ['assistant', 'one two']
    ])
    t.equal(each.runId, runId)
    t.match(each.events.at(-1), { type: 'RUN_FINISHED', outcome: { type: 'success' } })
  }
  t.same(page.messages, other.messages)
})

t.test(
  'a client that leaves: its run continues, unless the request or the plugin says otherwise',
  async (t) => {
    const cases = [
      [undefined, {}, 'stop'],
      [undefined, { svc: { onDisconnect: 'cancel' } }, 'canceled'],
      ['cancel', {}, 'canceled']
    ] as const
    for (const [onDisconnect, forwardedProps, finishReason] of cases) {
      const { agent, go } = pausing()
      const { url, runs } = await agUiApp(t, {
        runnables: [agent],
        ...(onDisconnect && { options: { onDisconnect } })
      })
      const page = new TestAgent({ url: url('pausing') })
      const sent = page.say('Count', { forwardedProps })
      await page.until(({ text }) => text === 'one')
      page.abortRun()
      await sent
      if (finishReason === 'stop') go()
      const parts = []
      for await (const part of runs.parts(page.runId)) parts.push(part)
      t.match(parts.at(-1), { finishReason })
    }
  }
)

t.test('the run under way is canceled by DELETE', async (t) => {
  const { agent } = pausing()
  const { url, runs } = await agUiApp(t, { runnables: [agent] })
  const page = new TestAgent({ url: url('pausing') })
  const sent = page.say('Count')
  await page.until(({ text }) => text === 'one')
  const cancel = () => fetch(`${url('pausing')}/threads/${page.threadId}/run`, { method: 'DELETE' })
  t.equal((await cancel()).status, 204)
  await sent
  t.match(page.events.at(-1), {
    type: 'RUN_FINISHED',
    outcome: { type: 'cancelled' },
    metadata: { finishReason: 'canceled' }
  })
  t.equal((await runs.find(page.runId))!.status, 'canceled')
  t.equal((await cancel()).status, 204, 'also if nothing runs')
})

t.test('a request that is sent twice is one run', async (t) => {
  const model = scriptedModel((_, index) => `answer ${index}`)
  const { url } = await agUiApp(t, { add: (registry) => new Agent({ name: 'support', model, registry }) })
  const send = async (content = 'Hi', runId = 'r1') => {
    const body = { threadId: 't1', runId, messages: [{ id: 'm1', role: 'user', content }] }
    const response = await fetch(url('support'), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body)
    })
    return { text: await response.text(), headers: response.headers }
  }
  const [first, again] = [await send(), await send()]
  t.match(first.headers.get('content-type'), 'text/event-stream')
  t.equal(again.text, first.text, 'the stream of the same run')
  t.equal(model.calls.length, 1)
  t.not((await send('Ho')).headers.get('x-run-id'), first.headers.get('x-run-id'))
  t.not((await send('Hi', 'r2')).headers.get('x-run-id'), first.headers.get('x-run-id'))
})

t.test('while a run of the thread works, a message waits or is refused', async (t) => {
  const { promise: may, resolve: go } = Promise.withResolvers<void>()
  const model = scriptedModel((_, index) => `answer ${index}`)
  const slow = {
    ...model,
    doStream: async (call: Parameters<typeof model.doStream>[0]) => (await may, model.doStream(call))
  }
  const { url } = await agUiApp(t, {
    add: (registry) => new Agent({ name: 'support', model: slow, registry })
  })
  const first = new TestAgent({ url: url('support') })
  const { threadId } = first
  const second = new TestAgent({ url: url('support'), threadId })
  const { promise: began, resolve: begin } = Promise.withResolvers<void>()
  const { promise: notice, resolve: notify } = Promise.withResolvers<unknown>()
  const sent = [first.say('one', {}, { onRunStartedEvent: () => begin() })]
  await began
  sent.push(second.say('two', {}, { onCustomEvent: ({ event }) => notify(event) }))
  t.match(await notice, { name: 'queue', value: { position: 1 } }, 'its place is transient data')
  const refused = new TestAgent({ url: url('support'), threadId })
  await t.rejects(refused.say('three', { forwardedProps: { svc: { whenBusy: 'reject' } } }), {
    message: new RegExp(`RUN_ERR_SESSION_BUSY.*"runId":"${first.runId}"`)
  })
  go()
  await Promise.all(sent)
  t.same([first.text, second.text], ['answer 0', 'answer 1'])
})

t.test('a message that joins the run under way gets what follows', async (t) => {
  const { promise: may, resolve: go } = Promise.withResolvers<void>()
  const wait = defineTool({
    name: 'wait',
    description: 'Waits',
    input: Type.Object({}),
    execute: async () => (await may, 'waited')
  })
  const model = scriptedModel([{ text: 'One moment', toolCalls: [{ toolName: 'wait' }] }, 'Both'])
  const { url } = await agUiApp(t, {
    add: (registry) => new Agent({ name: 'support', model, registry, tools: [wait] })
  })
  const first = new TestAgent({ url: url('support') })
  const sent = first.say('one')
  await first.until(({ events }) => events.some(({ type }) => (type as string) === 'TOOL_CALL_END'))
  const second = new TestAgent({
    url: url('support'),
    threadId: first.threadId,
    initialMessages: first.messages
  })
  const { promise: joined, resolve: join } = Promise.withResolvers<void>()
  const steer = { forwardedProps: { svc: { whenBusy: 'steer' } } }
  const steered = second.say('two', steer, { onRunStartedEvent: () => join() })
  await joined
  go()
  await Promise.all([sent, steered])
  t.equal(second.of('TEXT_MESSAGE_START').length, 1)
  t.equal(second.text, 'Both')
  t.match(second.runId, new RegExp(`^${first.runId}_`))
  t.equal(model.calls.length, 2)
})
