import { HttpAgent } from '@ag-ui/client'
import t from 'tap'
import { buildApp } from '../../src/app.ts'
import { readEnv } from '../../src/env.ts'
import { createOfflineModel } from '../../src/models/offline/offline-model.ts'

t.test('the client of AG-UI talks to the demo, and approves what an agent wants to do', async (t) => {
  const app = await buildApp(
    readEnv({ DATA_DIR: t.testdir(), LOG_LEVEL: 'silent' }),
    createOfflineModel({ delay: 0 })
  )
  t.teardown(() => app.close())
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  const agent = new HttpAgent({ url: `${origin}/api/ag-ui/notes` })
  const say = async (content: string) => {
    agent.addMessage({ id: crypto.randomUUID(), role: 'user', content })
    await agent.runAgent()
    return agent.messages.at(-1)!.content
  }
  t.match(await say('note: buy milk'), /buy milk/)
  await say('delete note 1')
  const [approval] = agent.pendingInterrupts
  t.match(approval, { reason: 'tool_call', message: /May the tool/ })
  await agent.runAgent({
    resume: [{ interruptId: approval!.id, status: 'resolved', payload: { approved: true } }]
  })
  t.match(await say('list my notes'), /no notes/, 'the note is gone')

  const desk = new HttpAgent({ url: `${origin}/api/ag-ui/team/desk` })
  desk.addMessage({ id: 'm1', role: 'user', content: 'The statistics of 3, 5 and 10, please' })
  await desk.runAgent()
  t.match(desk.messages.at(-1)!.content, /6/)
})
