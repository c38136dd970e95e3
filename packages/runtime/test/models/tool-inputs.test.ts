import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { Type } from '@sinclair/typebox'
import { defineTool } from '@svc/runtime'
import t from 'tap'
import { collect, makeAgent } from '../helpers/make-agent.ts'

const look = defineTool({
  name: 'look',
  description: 'Looks',
  input: Type.Object({}),
  execute: () => 'seen'
})
const finish: LanguageModelV4StreamPart = {
  type: 'finish',
  finishReason: { unified: 'tool-calls', raw: undefined },
  usage: {
    inputTokens: { total: 1, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: 1, text: undefined, reasoning: undefined }
  }
}
const call = (id: string, deltas: string[], start: object = {}): LanguageModelV4StreamPart[] => [
  { type: 'tool-input-start', id, toolName: 'look', ...start },
  ...deltas.map((delta) => ({ type: 'tool-input-delta', id, delta }) as const),
  { type: 'tool-input-end', id },
  { type: 'tool-call', toolCallId: id, toolName: 'look', input: deltas.join(''), ...start }
]

async function run(parts: LanguageModelV4StreamPart[], toolCallDeltas = true) {
  const { agent } = makeAgent([{ parts: [...parts, finish] }, 'Done.'], { tools: [look], toolCallDeltas })
  const { ofType, types } = await collect(agent.stream('Look'))
  return { deltas: ofType('tool.call.delta'), calls: ofType('tool.call'), types }
}

t.test('the arguments of tool calls, while the model writes them', async (t) => {
  const parts = call('c1', ['{"at":', '', '"bees"}'])
  const { deltas, types } = await run(parts)
  const given = { type: 'tool.call.delta', toolCallId: 'c1', toolName: 'look' } as const
  t.strictSame(deltas, [
    { ...given, delta: '{"at":' },
    { ...given, delta: '"bees"}' }
  ])
  t.strictSame(types.slice(0, 4), ['step.start', 'tool.call.delta', 'tool.call.delta', 'tool.call'])
  const off = await run(parts, false)
  t.strictSame(off.deltas, [], 'only on request')
  t.equal(off.calls.length, 1)
})

t.test('each call keeps its id from its first increment on', async (t) => {
  const { deltas, calls } = await run([
    ...call('c1', ['{}']),
    ...call('c1', ['{"a":1}']),
    ...call('', ['{"b":2}'])
  ])
  t.strictSame(
    deltas.map(({ toolCallId, delta }) => [toolCallId, JSON.parse(delta)]),
    calls.map(({ toolCallId, args }) => [toolCallId, args])
  )
  t.equal(new Set(calls.map(({ toolCallId }) => toolCallId)).size, 3)
  const provider = await run([
    ...call('srv', ['{"q":1}'], { providerExecuted: true }),
    ...call('own', ['{}'])
  ])
  t.match(provider.deltas, [{ toolCallId: 'srv' }, { toolCallId: 'own' }])
})

t.test('increments of plain text become JSON', async (t) => {
  const words = 'a "b" \\ \n \u{1f41d} c'
  // By code units, so that a pair of surrogates is split.
  const units = Array.from({ length: words.length }, (_, at) => words[at]!)
  for (const increments of [units, ['', words]]) {
    const parts: LanguageModelV4StreamPart[] = [
      { type: 'tool-input-start', id: 'c', toolName: 'look', inputEncoding: 'text' },
      ...increments.map((delta) => ({ type: 'tool-input-delta', id: 'c', delta }) as const),
      { type: 'tool-input-end', id: 'c' },
      { type: 'tool-call', toolCallId: 'c', toolName: 'look', input: JSON.stringify(words) }
    ]
    const told = await run(parts)
    t.equal(JSON.parse(told.deltas.map(({ delta }) => delta).join('')), words)
  }
})

t.test('increments without a start are ignored', async (t) => {
  const { deltas } = await run([
    { type: 'tool-input-delta', id: 'x', delta: '{' },
    { type: 'tool-input-end', id: 'x' },
    ...call('c', ['{}'])
  ])
  t.equal(deltas.length, 1)
})
