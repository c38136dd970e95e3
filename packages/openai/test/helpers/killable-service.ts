import openAi from '@svc/openai'
import openAiAgents from '@svc/openai/agents'
import { serveUntilKilled } from '@tools/wires/serve-until-killed'

await serveUntilKilled(
  ({ prompt }) => {
    const text = JSON.stringify(prompt)
    if (text.includes('Oslo')) return 'You are there'
    if (text.includes('Where')) return { toolCalls: [{ toolName: 'locate', args: {} }] }
    return { text: ['one ', 'two ', 'three ', 'four'], delay: 150 }
  },
  {},
  async (app) => {
    await app.register(openAi, { prefix: '/v1', clientTools: true })
    await app.register(openAiAgents, { prefix: '/v1', clientTools: true })
  }
)
