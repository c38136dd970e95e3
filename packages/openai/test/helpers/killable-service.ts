import openAi from '@svc/openai'
import { serveUntilKilled } from '@tools/wires/serve-until-killed'

await serveUntilKilled(
  ({ prompt }) => {
    const text = JSON.stringify(prompt)
    if (text.includes('Oslo')) return 'You are there'
    if (text.includes('Where')) return { toolCalls: [{ toolName: 'locate', args: {} }] }
    return { text: ['one ', 'two ', 'three ', 'four'], delay: 150 }
  },
  {},
  (app) => app.register(openAi, { prefix: '/v1', clientTools: true })
)
