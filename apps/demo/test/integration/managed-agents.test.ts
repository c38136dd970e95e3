import Anthropic from '@anthropic-ai/sdk'
import t from 'tap'
import { MANAGED } from '../../src/address.ts'
import { buildApp } from '../../src/app.ts'
import { readEnv } from '../../src/env.ts'
import { createOfflineModel } from '../../src/models/offline/offline-model.ts'

t.test(
  'the SDK of Anthropic holds a session with the demo, and confirms what an agent wants to do',
  async (t) => {
    const app = await buildApp(
      readEnv({ DATA_DIR: t.testdir(), LOG_LEVEL: 'silent' }),
      createOfflineModel({ delay: 0 })
    )
    t.teardown(() => app.close())
    const baseURL = `${await app.listen({ port: 0, host: '127.0.0.1' })}${MANAGED}`
    const { sessions } = new Anthropic({ baseURL, apiKey: 'none', maxRetries: 0 }).beta
    const say = (text: string) => ({
      type: 'user.message' as const,
      content: [{ type: 'text' as const, text }]
    })
    const { id } = await sessions.create({ agent: 'notes', environment_id: 'env_service' })
    const stream = await sessions.events.stream(id)
    await sessions.events.send(id, { events: [say('note: buy milk'), say('delete note 1')] })
    let turns = 0
    const uses: string[] = []
    for await (const event of stream) {
      if (event.type === 'agent.tool_use') uses.push(event.name)
      if (event.type !== 'session.status_idle') continue
      if (event.stop_reason.type === 'requires_action')
        await sessions.events.send(id, {
          events: event.stop_reason.event_ids.map((tool_use_id) => ({
            type: 'user.tool_confirmation',
            tool_use_id,
            result: 'allow'
          }))
        })
      else if (++turns === 2) break
    }
    t.equal(uses.length, 2, uses.join())
    t.equal((await sessions.retrieve(id)).status, 'idle')
  }
)
