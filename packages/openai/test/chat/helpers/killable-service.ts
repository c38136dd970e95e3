import openAi from '@svc/openai'
import { serveUntilKilled } from '@tools/wires/serve-until-killed'

// Runs of `/v1` end with their process, those of `/kept` resume in the next.
await serveUntilKilled(
  ({ prompt }) => {
    const text = JSON.stringify(prompt)
    if (text.includes('Oslo')) return 'You are in Oslo'
    if (text.includes('Where'))
      return { text: 'Let me see', toolCalls: [{ toolName: 'locate', args: { exact: true } }] }
    return { text: ['one ', 'two'], hangs: 'stream' }
  },
  {},
  async (app) => {
    await app.register(openAi, { prefix: '/v1', clientTools: true })
    await app.register(openAi, { prefix: '/kept', clientTools: true, onDisconnect: 'continue' })
  }
)
