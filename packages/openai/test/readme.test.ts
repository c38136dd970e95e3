import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import * as openAi from '@svc/openai'
import { OpenAiOptionsSchema, type OPENAI_ERR_UNKNOWN_MODEL } from '@svc/openai'
import OpenAI from 'openai'
import { zodTextFormat } from 'openai/helpers/zod'
import t from 'tap'
import { z } from 'zod'
import { send, supportAgent } from './helpers/agents.ts'
import { openAiApp } from './helpers/openai-app.ts'

const readme = readFileSync(resolve(import.meta.dirname, '../README.md'), 'utf8')
const AsyncFunction = (async () => {}).constructor as new (
  ...names: string[]
) => (...values: unknown[]) => Promise<void>

/** The names in the first column of the tables under a heading. */
function firstColumn(heading: string): string[] {
  const section = readme.slice(readme.indexOf(`## ${heading}\n`)).split('\n## ', 2)[0] ?? ''
  const rows = section.split('\n').filter((line) => line.startsWith('| `'))
  return rows
    .flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, name = '']) => name))
    .toSorted()
}

t.test('the table of errors is the catalogue', async (t) => {
  const catalogue = Object.entries(openAi).filter(([name]) => name.startsWith('OPENAI_ERR_'))
  t.strictSame(firstColumn('Errors'), catalogue.map(([code]) => code).toSorted())
  for (const [code, value] of catalogue) {
    const Fault = value as typeof OPENAI_ERR_UNKNOWN_MODEL
    t.match(readme, `| \`${code}\` | ${new Fault('x').statusCode} |`)
  }
})

t.test('the table of options is the schema', async (t) => {
  t.strictSame(firstColumn('Options'), Object.keys(OpenAiOptionsSchema.properties).toSorted())
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
  const blocks = [...readme.matchAll(/^```js\n([^]*?)^```/gm)].map(([, code = '']) => code)
  const outputs: string[][] = []
  for (const code of blocks) {
    const printed: string[] = []
    const values = {
      OpenAI: class extends OpenAI {
        constructor() {
          super({ baseURL, apiKey: 'none', maxRetries: 0 })
        }
      },
      ...{ z, zodTextFormat, console: { log: (value: unknown) => void printed.push(String(value)) } }
    }
    const body = code.replaceAll(/^import .*$/gm, '')
    await new AsyncFunction(...Object.keys(values), body)(...Object.values(values))
    outputs.push(printed)
  }
  const [turns, background, tools, approvals, structured, completions, ...rest] = outputs
  t.match(turns, ['Good night.', 'response.created', 'response.in_progress'])
  t.match(background!.slice(0, 2), ['4', '5'])
  t.match(background!.at(-1), /^completed$/)
  t.same(tools, ['It is 14 °C.'])
  t.same(approvals, ['Done.'])
  t.same(structured, ['Alice,Bob'])
  t.match(completions![0], 'Good night.')
  t.equal(completions!.slice(1).join(''), 'It is 14 °C.')
  t.same(rest, [])
})
