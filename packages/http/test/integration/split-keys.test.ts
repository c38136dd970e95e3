import type { NumberedPart, RunRecord, YieldedPart } from '@svc/registry'
import { scriptedRunnable } from '@svc/testing'
import t from 'tap'
import { buildApp } from '../helpers/build-app.ts'
import { parseMessages } from '../helpers/event-stream.ts'

const key = 'sk-caller-0123456789abcdef'
const [head, tail] = [key.slice(0, 11), key.slice(11)]

/** What was told of one kind, joined as a client joins it. */
const joined = (parts: readonly NumberedPart[], wanted: 'text' | 'reasoning', source?: string) =>
  parts.flatMap((part) => (part.type === wanted && part.source?.[0] === source ? [part.text] : [])).join('')

const script: YieldedPart[] = [
  { type: 'reasoning', text: `They gave me ${head}` },
  { type: 'reasoning', text: `${tail}, I think` },
  { type: 'text', text: `Your key is ${head}` },
  { type: 'text', text: tail.slice(0, 4), source: ['writer'] },
  { type: 'text', text: `${tail}. Its half is ${head}` },
  { type: 'tool.call', toolCallId: '1', toolName: 'look', args: {} },
  { type: 'tool.result', toolCallId: '1', toolName: 'look', result: 1, durationMs: 1 },
  { type: 'text', text: `writers know ${head}`, source: ['writer'] },
  { type: 'text', text: 'and this is sk', source: ['reader'] },
  { type: 'text', text: `${tail} too`, source: ['writer'] },
  { type: 'text', text: ', and the end is sk-' }
]

t.test('a key that a model outputs in pieces reaches no reader', async (t) => {
  const { post, get, check, url } = await buildApp(t, { runnables: [scriptedRunnable(script)] })
  const headers = { 'x-openai-api-key': key }
  const response = await post('/agents/scripted/stream', { input: 'x' }, headers)
  const runId = response.headers.get('x-run-id')
  const messages = parseMessages(await response.text())
  const parts = messages.map(({ part }) => part)

  const text = 'Your key is [redacted]. Its half is sk-caller-0, and the end is sk-'
  t.equal(joined(parts, 'reasoning'), 'They gave me [redacted], I think')
  t.equal(joined(parts, 'text'), text)
  t.equal(joined(parts, 'text', 'writer'), `${tail.slice(0, 4)}writers know [redacted] too`)
  t.equal(joined(parts, 'text', 'reader'), 'and this is sk')
  t.same(
    parts.map(({ seq }) => seq),
    parts.map((_, index) => index + 1),
    'no number is missing'
  )
  const call = parts.findIndex(({ type }) => type === 'tool.call')
  t.equal(joined(parts.slice(0, call), 'text'), 'Your key is [redacted]. Its half is sk-caller-0')

  const record = (await (await get(`/runs/${runId}`)).json()) as RunRecord
  t.equal(record.result?.text, text)
  const again = await check('GET', `/runs/${runId}/stream`, fetch(`${url}/runs/${runId}/stream`))
  t.same(parseMessages(await again.text()), messages)
  const run = await post('/agents/scripted/run', { input: 'x', apiKey: key })
  t.match(await run.json(), { text })
})

t.test('without a key every increment passes unchanged', async (t) => {
  const { post } = await buildApp(t, { runnables: [scriptedRunnable(script)] })
  const response = await post('/agents/scripted/stream', { input: 'x' })
  const parts = parseMessages(await response.text()).map(({ part }) => part)
  t.match(parts.slice(1, -1), script)
})
