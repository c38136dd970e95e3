import { join } from 'node:path'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import store from '@svc/store'
import { KillableService } from '@tools/wires/killable-service'
import t from 'tap'
import { agUiApp } from '../helpers/agui-app.ts'
import { TestAgent } from '../helpers/test-agent.ts'

const SERVICE = new URL('../helpers/killable-service.ts', import.meta.url)

t.setTimeout(120_000)

const urlOf = ({ origin }: KillableService) => `${origin}/api/ag-ui/support`

/** After an error the client cancels its reader, and lets the rejection escape, which ends Node.js; a browser only prints it. */
async function fetchQuietly(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init)
  const reader = response.body!.getReader()
  const quiet = { read: () => reader.read(), cancel: () => reader.cancel().catch(() => undefined) }
  return Object.defineProperty(response, 'body', { value: { getReader: () => quiet } })
}

t.test(
  'kill -9: pages connect again, what was void is gone, and answers reach the next process',
  async (t) => {
    const service = new KillableService(t, SERVICE)
    await service.start()
    const asked = new TestAgent({ url: urlOf(service) })
    await asked.say('Mail')
    const [approval] = asked.pendingInterrupts
    const agent = new TestAgent({ url: urlOf(service), fetch: fetchQuietly })
    const broken = t.rejects(agent.say('Count'), 'the stream has broken off')
    await agent.until(({ text }) => text.startsWith('one two'))
    await service.kill()
    await broken
    await service.start()

    const answered = asked.runAgent({
      resume: [{ interruptId: approval!.id, status: 'resolved', payload: { approved: true } }]
    })
    await agent.connectAgent()
    t.same(agent.said, [
      ['user', 'Count'],
      ['assistant', 'one two three four']
    ])
    t.match(
      agent.of('CUSTOM').find(({ name }) => name === 'void'),
      { value: { messageIds: [String], toolCallIds: [] } }
    )
    t.match(agent.events.at(-1), { outcome: { type: 'success' } })
    await answered
    t.equal(asked.text, 'Done')
    t.match(
      asked.messages.find(({ role }) => role === 'tool'),
      { content: 'sent to ann' }
    )
  }
)

t.test('an orderly restart ends streams with an error, so that pages connect again', async (t) => {
  const url = `sqlite:${join(t.testdir(), 'threads.db')}`
  const model = scriptedModel((_, index) => ({
    text: ['one ', 'two'],
    ...(index === 0 && { hangs: 'stream' })
  }))
  const serve = async (port: number) => {
    const served = await agUiApp(t, {
      before: async (app) => app.register(store, { url }),
      add: (registry) => new Agent({ name: 'support', model, registry }),
      port
    })
    return { app: served.app, url: served.url('support'), port: Number(new URL(served.origin).port) }
  }
  const first = await serve(0)
  const agent = new TestAgent({ url: first.url })
  const sent = agent.say('Count')
  await agent.until(({ text }) => text === 'one two')
  await first.app.close()
  await sent
  t.match(agent.events.at(-1), {
    type: 'RUN_ERROR',
    code: 'RUN_ERR_SUSPENDED',
    metadata: { retryable: true }
  })
  await serve(first.port)
  await agent.connectAgent()
  t.equal(agent.text, 'one two')
  t.match(agent.events.at(-1), { outcome: { type: 'success' } })
})
