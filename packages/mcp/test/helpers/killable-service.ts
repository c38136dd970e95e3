import mcp from '@svc/mcp'
import { send } from '@tools/wires/agents'
import { serveUntilKilled } from '@tools/wires/serve-until-killed'

await serveUntilKilled(
  ({ prompt }) =>
    JSON.stringify(prompt).includes('sent to ann')
      ? 'Done'
      : { toolCalls: [{ toolName: 'send', args: { to: 'ann' } }] },
  { tools: [send] },
  (app) => app.register(mcp)
)
