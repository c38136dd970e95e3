import { OpenAiOptionsSchema } from '@svc/openai'
import OpenAI from 'openai'
import { zodTextFormat } from 'openai/helpers/zod'
import { ResponsesWS } from 'openai/resources/responses/ws'
import { optionNames, readReadme } from '@tools/wires/readme-tables'
import { send } from '@tools/wires/agents'
import t from 'tap'
import { z } from 'zod'
import { supportAgent } from './helpers/agents.ts'
import { openAiApp } from './helpers/openai-app.ts'

const readme = readReadme(import.meta.dirname)
const AsyncFunction = (async () => {}).constructor as new (
  ...names: string[]
) => (...values: unknown[]) => Promise<void>

t.test('the table of options is the schema', async (t) => {
  t.strictSame(readme.firstColumn('Options'), optionNames(OpenAiOptionsSchema.properties))
})

t.test('the code of clients works as it is pasted', async (t) => {
  const { add } = supportAgent(
    ({ prompt }) => {
      const said = JSON.stringify(prompt)
      if (said.includes('novel')) return { text: ['Long ', 'ago ', 'there ', 'was'], delay: 5 }
      if (said.includes('celsius')) return 'It is 14 °C.'
      if (said.includes('weather'))
        return { toolCalls: [{ toolName: 'get_weather', args: { location: 'Paris' } }] }
      if (said.includes('sent to')) return 'Done.'
      if (said.includes('Mail')) return { toolCalls: [{ toolName: 'send', args: { to: 'ann' } }] }
      if (said.includes('science')) return '{"name":"fair","date":"Friday","participants":["Alice","Bob"]}'
      return { text: ['Good ', 'night.'] }
    },
    { tools: [send] }
  )
  const { baseURL } = await openAiApp(t, { add })
  const blocks = [...readme.text.matchAll(/^```js\n([^]*?)^```/gm)].map(([, code = '']) => code)
  const outputs: string[][] = []
  for (const code of blocks) {
    const printed: string[] = []
    const values = {
      OpenAI: class extends OpenAI {
        constructor() {
          super({ baseURL, apiKey: 'none', maxRetries: 0 })
        }
      },
      ResponsesWS,
      z,
      zodTextFormat,
      console: { log: (value: unknown) => void printed.push(String(value)) }
    }
    const body = code.replaceAll(/^import .*$/gm, '')
    await new AsyncFunction(...Object.keys(values), body)(...Object.values(values))
    outputs.push(printed)
  }
  const [turns, background, socket, tools, approvals, structured, completions, ...rest] = outputs
  t.match(turns, ['Good night.', 'response.created', 'response.in_progress'])
  t.match(background!.slice(0, 2), ['4', '5'])
  t.match(background!.at(-1), /^completed$/)
  t.same(socket, ['Good night.', 'Good night.'])
  t.same(tools, ['It is 14 °C.'])
  t.same(approvals, ['Done.'])
  t.same(structured, ['Alice,Bob'])
  t.match(completions![0], 'Good night.')
  t.equal(completions!.slice(1).join(''), 'It is 14 °C.')
  t.same(rest, [])
})
