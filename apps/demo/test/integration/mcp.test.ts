import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import t from 'tap'
import { buildApp } from '../../src/app.ts'
import { readEnv } from '../../src/env.ts'
import { createOfflineModel } from '../../src/models/offline/offline-model.ts'

t.test(
  'the official client of MCP keeps notes with the demo, and approves what an agent wants to do',
  async (t) => {
    const app = await buildApp(
      readEnv({ DATA_DIR: t.testdir(), LOG_LEVEL: 'silent' }),
      createOfflineModel({ delay: 0 })
    )
    t.teardown(() => app.close())
    const origin = await app.listen({ port: 0, host: '127.0.0.1' })
    const client = new Client(
      { name: 'test', version: '1.0.0' },
      { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: 'auto' } }
    )
    const asked: string[] = []
    client.setRequestHandler('elicitation/create', ({ params }) => {
      asked.push(params.message)
      return { action: 'accept', content: { approved: true } }
    })
    await client.connect(new StreamableHTTPClientTransport(new URL(`${origin}/api/mcp`)))
    t.teardown(() => client.close())
    const say = async (message: string) => {
      const { content } = await client.callTool({ name: 'notes', arguments: { message, sessionId: 'mine' } })
      return JSON.stringify(content)
    }
    t.match(await say('note: buy milk'), /buy milk/)
    await say('delete note 1')
    t.equal(asked.length, 1)
    t.match(await say('list my notes'), /no notes/, 'the note is gone')
  }
)
