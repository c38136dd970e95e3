import type { JSONSchema7 } from '@ai-sdk/provider'
import { Type } from '@sinclair/typebox'
import { createRunEngine } from '@svc/registry'
import { defineTool } from '@svc/runtime'
import t from 'tap'
import * as v from 'valibot'
import * as z from 'zod'
import { readJson } from '../../src/json/json.ts'
import { collect, makeAgent, makeContext } from '../helpers/make-agent.ts'

const output = Type.Object({ city: Type.String(), days: Type.Integer({ minimum: 1 }) })
const good = '{"city":"Rome","days":3}'
const historyOf = async (context: ReturnType<typeof makeContext>['context']) =>
  context.stores.sessions.load(
    { registry: 'global', owner: 'anonymous', kind: 'agent', name: 'tester', sessionId: context.sessionId },
    10
  )

t.test('an answer that fits is the structured value', async (t) => {
  const { agent, model } = makeAgent({ text: ['{"city":"Rome",', '"days":3}'] }, { output })
  const { context } = makeContext()
  const run = await collect(agent.stream('Plan', context))
  t.match(run.ofType('structured'), [{ value: { city: 'Rome', days: 3 } }])
  t.equal(run.ofType('text').length, 2, 'it streams as it comes')
  t.match(model.calls[0]?.responseFormat, {
    type: 'json',
    schema: { type: 'object', properties: { city: {}, days: {} }, additionalProperties: false }
  })
  t.match(await makeAgent(good, { output }).agent.run('Plan'), {
    structured: { city: 'Rome', days: 3 },
    text: good
  })
  t.strictSame(agent.describe().output, JSON.parse(JSON.stringify(output)))
})

t.test('the engine hands it on', async (t) => {
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  const run = await engine.start(makeAgent(good, { output }).agent, 'Plan')
  const { structured } = await run.result()
  t.strictSame(structured, { city: 'Rome', days: 3 })
  const last = (await Array.fromAsync(run.parts())).at(-1)
  t.match(last, { type: 'finish', structured: { city: 'Rome' } })
})

t.test('an answer that does not fit is sent back once', async (t) => {
  for (const bad of ['Rome, three days', '{"city":"Rome"}', '{"city":"Rome","days":0}', '']) {
    const { agent, model } = makeAgent([bad === '' ? { text: [] } : bad, good], { output, maxSteps: 1 })
    const { context } = makeContext()
    const run = await collect(agent.stream('Plan', context))
    t.equal(run.error, undefined, bad)
    t.match(run.ofType('structured'), [{ value: { city: 'Rome', days: 3 } }])
    const asked = model.calls[1]?.prompt.at(-1)
    t.match(JSON.stringify(asked?.content), /cannot be used: .*JSON Schema/)
    t.match(run.parts.at(-1), { type: 'finish', finishReason: 'stop', usage: { promptTokens: 20 } })
    t.match(
      await historyOf(context),
      [{ role: 'user' }, { role: 'assistant', text: good }],
      'the session has the good one'
    )
    t.equal((await historyOf(context)).length, 2)
  }
})

t.test('the second answer that does not fit fails the run', async (t) => {
  const { agent, model } = makeAgent('{"city":1,"days":"SECRET"}', { output })
  const { context } = makeContext()
  const run = await collect(agent.stream('Plan', context))
  t.match(run.error, {
    code: 'RUN_ERR_BAD_OUTPUT',
    statusCode: 502,
    message: /city: must be string; days: must be integer/
  })
  t.equal(model.calls.length, 2)
  t.notOk(run.types.includes('finish') || run.types.includes('structured'))
  t.strictSame(await historyOf(context), [])
})

t.test('with tools: only the answer is checked, before and after a mending', async (t) => {
  const look = defineTool({
    name: 'look',
    description: 'Looks',
    input: Type.Object({}),
    execute: () => 'Rome'
  })
  const call = { toolCalls: [{ toolName: 'look' }] }
  const { agent, model } = makeAgent([{ ...call, text: 'Looking.' }, 'bad', call, good], {
    output,
    tools: [look]
  })
  const run = await collect(agent.stream('Plan', makeContext().context))
  t.match(run.ofType('structured'), [{ value: { city: 'Rome' } }])
  t.equal(model.calls.length, 4)
  const late = makeAgent(call, { output, tools: [look], maxSteps: 2 })
  t.match(await late.agent.run('Plan'), { finishReason: 'max-steps', structured: null })
})

t.test('any JSON Schema will do, and what is none is refused', async (t) => {
  t.strictSame(
    (await makeAgent('[1,2]', { output: Type.Array(Type.Number()) }).agent.run('x')).structured,
    [1, 2]
  )
  t.strictSame((await makeAgent('"a"', { output: Type.String() }).agent.run('x')).structured, 'a')
  t.strictSame((await makeAgent('null', { output: Type.Null() }).agent.run('x')).structured, null)
  for (const bad of [null, 'object', { type: 'nonsense' }])
    t.throws(
      () => makeAgent('x', { output: bad as never }),
      { code: 'RUN_ERR_BAD_AGENT', message: /output/ },
      JSON.stringify(bad)
    )
})

t.test('an output that is no JSON Schema says what to give', async (t) => {
  const bad: [unknown, RegExp][] = [
    [v.object({ a: v.number() }), /the output has no JSON Schema: .*toStandardJsonSchema/],
    [{ city: 'string' }, /the output has no keyword of JSON Schema/],
    ['object', /the output is not a schema/]
  ]
  for (const [wrong, message] of bad)
    t.throws(() => makeAgent('x', { output: wrong as never }), { code: 'RUN_ERR_BAD_AGENT', message })
  const converted = z.toJSONSchema(z.object({ a: z.number() }))
  t.strictSame((await makeAgent('{"a":1}', { output: converted }).agent.run('x')).structured, {
    a: 1
  })
  for (const any of [{}, { $id: 'x' }, Type.Any(), Type.Unsafe({ 'x-of': 'mine' })])
    t.equal((await makeAgent('5', { output: any as never }).agent.run('x')).structured, 5)
})

t.test('the types take every valid schema', async (t) => {
  const plain = { type: 'object', properties: { a: { type: 'number' } } } as const
  const loose: JSONSchema7 = { type: 'object' }
  for (const schema of [plain, loose, {}, Type.Object({ a: Type.Number() })] as const) {
    const { structured } = await makeAgent('{"a":1}', { output: schema }).agent.run('x')
    t.strictSame(structured, { a: 1 })
  }
})

t.test('the members of an intersection stay open, or no answer could match all of them', async (t) => {
  const member = (name: string) => ({ type: 'object', properties: { [name]: { type: 'string' } } })
  const closed = (name: string) => ({ ...member(name), additionalProperties: false })
  const nested = (name: string) => ({ type: 'object', properties: { in: member(name) } })
  const cases: [given: object, shown: object][] = [
    [{ allOf: [member('a'), member('b')] }, { allOf: [member('a'), member('b')] }],
    [{ allOf: [nested('a'), nested('b')] }, { allOf: [nested('a'), nested('b')] }],
    [
      { ...member('a'), allOf: [member('b')] },
      { ...member('a'), allOf: [member('b')] }
    ],
    [
      { ...member('a'), anyOf: [member('b')] },
      { ...member('a'), anyOf: [member('b')] }
    ],
    [{ not: member('a') }, { not: member('a') }],
    [{ anyOf: [member('a'), member('b')] }, { anyOf: [closed('a'), closed('b')] }],
    [
      { allOf: [{ $ref: '#/$defs/a' }], $defs: { a: member('a'), b: member('b') } },
      { allOf: [{ $ref: '#/$defs/a' }], $defs: { a: member('a'), b: closed('b') } }
    ],
    [
      { type: 'object', properties: { default: member('a'), allOf: member('b') } },
      {
        type: 'object',
        properties: { default: closed('a'), allOf: closed('b') },
        additionalProperties: false
      }
    ]
  ]
  for (const [output, shown] of cases) {
    const { agent, model } = makeAgent('{}', { output })
    await agent.run('x').catch(() => {})
    t.strictSame(model.calls[0]?.responseFormat, { type: 'json', name: 'answer', schema: shown })
  }
})

t.test('what the model is told is closed; what is checked is what was given', async (t) => {
  const open = Type.Object({
    place: Type.Object({ x: Type.Number() }),
    any: Type.Record(Type.String(), Type.String()),
    kind: Type.Const({ type: 'object', properties: {} } as never)
  })
  const { agent, model } = makeAgent(
    '{"place":{"x":1,"y":2},"any":{"a":"b"},"kind":{"type":"object","properties":{}}}',
    { output: open }
  )
  t.match((await agent.run('x')).structured, { place: { y: 2 } })
  const format = model.calls[0]?.responseFormat
  t.match(format, {
    schema: { additionalProperties: false, properties: { place: { additionalProperties: false } } }
  })
  t.strictSame(open.additionalProperties, undefined, 'the given schema is not changed')
})

t.test('JSON between fences', async (t) => {
  t.strictSame(readJson('```json\n{"a":1}\n```'), { a: 1 })
  t.strictSame(readJson(' \n```\n[1]\n``` '), [1])
  t.equal(readJson('Here: {"a":1}'), undefined)
  t.equal(readJson('['.repeat(1_000) + ']'.repeat(1_000)), undefined, 'nested too deep')
})
