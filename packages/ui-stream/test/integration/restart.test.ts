import { join } from 'node:path'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import store from '@svc/store'
import { lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai'
import { KillableService } from '@tools/wires/killable-service'
import t from 'tap'
import { chatApp } from '../helpers/chat-app.ts'
import { TestChat } from '../helpers/test-chat.ts'

const SERVICE = new URL('../helpers/killable-service.ts', import.meta.url)

t.setTimeout(120_000)

const service = new KillableService(t, SERVICE)
await service.start()

t.test('kill -9 in the middle of an answer: the page resumes, and what was void is gone', async (t) => {
  const chat = new TestChat(`${service.origin}/api/chat/support`)
  const sent = chat.sendMessage({ text: 'Count' })
  await chat.until(({ text }) => text.startsWith('one two'))
  await service.kill()
  await sent
  t.equal(chat.status, 'error')
  await service.start()
  await chat.resumeStream()
  t.equal(chat.status, 'ready')
  t.equal(chat.text, 'one two three four', 'the repeated step replaces the void one')
  t.match(chat.lastMessage!.metadata, { status: 'completed' })
  t.equal(chat.messages.length, 2)
})

t.test('kill -9 while an approval is pending: the answer reaches the next process', async (t) => {
  const chat = new TestChat(`${service.origin}/api/chat/support`, {
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses
  })
  await chat.sendMessage({ text: 'Mail' })
  const part = chat.lastMessage!.parts.find(({ type }) => type === 'tool-send') as unknown as {
    approval: { id: string }
  }
  await service.kill()
  await service.start()
  await chat.addToolApprovalResponse({ id: part.approval.id, approved: true })
  await chat.untilEnded()
  t.equal(chat.error, undefined)
  t.equal(chat.text, 'Done')
  t.match(
    chat.lastMessage!.parts.find(({ type }) => type === 'tool-send'),
    { state: 'output-available', output: 'sent to ann' }
  )
})

t.test('an orderly restart breaks streams off, so that pages resume', async (t) => {
  const url = `sqlite:${join(t.testdir(), 'chats.db')}`
  const model = scriptedModel((_, index) => ({
    text: ['one ', 'two'],
    ...(index === 0 && { hangs: 'stream' })
  }))
  const serve = async (port: number) => {
    const lines: string[] = []
    const { app, api, origin } = await chatApp(t, {
      fastify: { logger: { level: 'error', stream: { write: (line) => void lines.push(line) } } },
      before: async (app) => app.register(store, { url }),
      add: (registry) => new Agent({ name: 'support', model, registry }),
      port
    })
    return { app, lines, api: api('support'), port: Number(new URL(origin).port) }
  }
  const first = await serve(0)
  const chat = new TestChat(first.api)
  const sent = chat.sendMessage({ text: 'Count' })
  await chat.until(({ text }) => text === 'one two')
  await first.app.close()
  await sent
  t.equal(chat.status, 'error', 'it is no whole answer')
  t.same(first.lines, [])
  await serve(first.port)
  await chat.resumeStream()
  t.equal(chat.text, 'one two')
  t.match(chat.lastMessage!.metadata, { status: 'completed' })
})
