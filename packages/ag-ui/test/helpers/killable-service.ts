import agUi from '@svc/ag-ui'
import { send } from '@tools/wires/agents'
import { serveUntilKilled } from '@tools/wires/serve-until-killed'

await serveUntilKilled(
  ({ prompt }) => {
    const text = JSON.stringify(prompt)
    if (text.includes('sent to ann')) return 'Done'
    if (text.includes('Mail')) return { toolCalls: [{ toolName: 'send', args: { to: 'ann' } }] }
    return { text: ['one ', 'two ', 'three ', 'four'], delay: 150 }
  },
  { tools: [send] },
  (app) => app.register(agUi, { prefix: '/api' })
)
