import OpenAI from 'openai'
import t from 'tap'
import { OPENAI } from '../../src/address.ts'
import { buildApp } from '../../src/app.ts'
import { readEnv } from '../../src/env.ts'
import { createOfflineModel } from '../../src/models/offline/offline-model.ts'

t.test(
  'the SDK of OpenAI holds a session with the demo, and approves what an agent wants to do',
  async (t) => {
    const app = await buildApp(
      readEnv({ DATA_DIR: t.testdir(), LOG_LEVEL: 'silent' }),
      createOfflineModel({ delay: 0 })
    )
    t.teardown(() => app.close())
    const baseURL = `${await app.listen({ port: 0, host: '127.0.0.1' })}${OPENAI}`
    const { sessions } = new OpenAI({ baseURL, apiKey: 'none', maxRetries: 0 }).beta.agents
    const { id } = await sessions.create({ agent_id: 'notes', environment: { type: 'none' } })
    await sessions.stream(id, { input: 'note: buy milk' }).finalResult()
    let asked = 0
    for await (const event of sessions.stream(id, { input: 'delete note 1' })) {
      if (event.type !== 'agent.session.requires_action') continue
      for (const action of event.session.required_actions) {
        if (action.type !== 'mcp_approval_request') continue
        asked++
        await sessions.events.create(id, {
          events: [
            {
              type: 'agent.session.input.mcp_approval_request_result',
              request_id: action.request_id,
              response: { type: 'mcp_tool_call', decision: 'approve' }
            }
          ]
        })
      }
    }
    t.equal(asked, 1)
    const turns = (await sessions.turns.list(id)).data
    t.same(
      turns.map(({ status }) => status),
      ['completed', 'completed']
    )
    const listed = (await app.inject('/api/sessions')).json<{ sessions: { sessionId: string }[] }>()
    t.ok(
      listed.sessions.some(({ sessionId }) => sessionId === id),
      'other wires list the session'
    )
  }
)
