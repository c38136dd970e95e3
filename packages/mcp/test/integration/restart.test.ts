import { KillableService } from '@tools/wires/killable-service'
import t from 'tap'
import { connect } from '../helpers/mcp-app.ts'

const SERVICE = new URL('../helpers/killable-service.ts', import.meta.url)

t.setTimeout(120_000)

void t.test('kill -9 while a call waits for an approval: the answer reaches the next process', async (t) => {
  const service = new KillableService(t, SERVICE)
  await service.start()
  const client = await connect(t, `${service.origin}/mcp`, {
    capabilities: { elicitation: { form: {} } },
    prepare: (client) =>
      client.setRequestHandler('elicitation/create', async () => {
        await service.kill()
        await service.start()
        return { action: 'accept', content: { approved: true } }
      })
  })
  const { content } = await client.callTool({ name: 'support', arguments: { message: 'Mail ann' } })
  t.match(content, [{ type: 'text', text: 'Done' }])
})
