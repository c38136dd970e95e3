import { setImmediate as turn } from 'node:timers/promises'
import {
  createInProcessStores,
  defineRunnable,
  type NumberedPart,
  type StartOptions,
  type YieldedPart
} from '@svc/registry'
import { createRedact } from '../../src/redaction/redact-value.ts'
import { codeOf, scriptedRunnable, type ScriptedAct } from '@svc/testing'
import { cases } from '@tools/wires/volume'
import * as fc from 'fast-check'
import t from 'tap'
import { buildEngine, partsOf } from '../helpers/collect.ts'
import { redactBySearch } from '../helpers/redact-by-search.ts'
import { alikeKeys, textLike } from '../helpers/secret-texts.ts'

const key = 'sk-caller-0123'
const withKey: StartOptions = { redact: createRedact([key]) }
const say = (text: string, ...source: string[]): YieldedPart => ({
  type: 'text',
  text,
  ...(source.length > 0 && { source })
})
const think = (text: string): YieldedPart => ({ type: 'reasoning', text })
const usage = { promptTokens: 1, completionTokens: 1, totalTokens: 2 }
const textOf = (part: YieldedPart | NumberedPart) =>
  part.type === 'text' || part.type === 'reasoning' ? part.text : `<${part.type}>`
const told = (parts: readonly NumberedPart[]) => parts.slice(1).map(textOf)

t.test('held-back text is emitted before a part of another type, and before the end', async (t) => {
  const engine = buildEngine(t)
  const cases: [script: ScriptedAct[], told: string[]][] = [
    [
      [say('a sk-'), think('b'), say('c')],
      ['a ', 'sk-', 'b', 'c', '<finish>']
    ],
    [
      [say('a sk-'), say('b sk', 'm'), say('c', 'm'), say('d')],
      ['a ', 'b ', 'skc', 'sk-d', '<finish>']
    ],
    [
      [say('sk-'), say('sk', 'm'), { type: 'step', index: 0, usage }],
      ['sk-', 'sk', '<step>', '<finish>']
    ],
    [
      [say('sk-'), { type: 'finish', finishReason: 'length' }],
      ['sk-', '<finish>']
    ],
    [
      [say('sk-'), () => Promise.reject(new Error('no'))],
      ['sk-', '<error>']
    ],
    [
      [say(''), say('sk-'), say('')],
      ['', '', 'sk-', '<finish>']
    ],
    [
      [say(key.slice(0, 9)), say(key.slice(9)), say('.')],
      ['[redacted]', '.', '<finish>']
    ]
  ]
  for (const [script, wanted] of cases) {
    const run = await engine.start(scriptedRunnable(script), 'x', withKey)
    t.strictSame(told(await partsOf(run)), wanted)
  }
})

t.test('a key in the increments of a tool call’s arguments', async (t) => {
  const engine = buildEngine(t)
  const delta = (toolCallId: string, text: string) =>
    ({ type: 'tool.call.delta', toolCallId, toolName: 'send', delta: text }) as const
  const run = await engine.start(
    scriptedRunnable([
      delta('a', '{"to":"sk-cal'),
      delta('b', '{"to":"sk-'),
      delta('a', 'ler-0123"}'),
      delta('b', 'other"'),
      delta('b', ',"key":"sk-'),
      { type: 'tool.call', toolCallId: 'b', toolName: 'send', args: { to: key } }
    ]),
    'x',
    withKey
  )
  const parts = await partsOf(run)
  const ofCall = (toolCallId: string) =>
    parts.flatMap((part) =>
      part.type === 'tool.call.delta' && part.toolCallId === toolCallId ? [part.delta] : []
    )
  t.equal(ofCall('a').join(''), '{"to":"[redacted]"}')
  t.strictSame(ofCall('b'), ['{"to":"', 'sk-other"', ',"key":"', 'sk-'])
  t.match(parts.at(-3), { type: 'tool.call.delta', toolCallId: 'b', toolName: 'send' }, 'before the call')
  t.match(parts.at(-2), { type: 'tool.call', args: { to: '[redacted]' } })
})

t.test('parallel members with alternating text and reasoning cannot leak a key', async (t) => {
  const engine = buildEngine(t)
  const script: ScriptedAct[] = []
  for (const letters of ['a sk-', 'cal', 'ler-01', '23 b'])
    script.push(say(letters, 'team', 'm'), { ...think('hm'), source: ['team', 'n'] } as YieldedPart)
  const run = await engine.start(scriptedRunnable(script), 'x', withKey)
  const parts = await partsOf(run)
  const said = parts.filter(({ type }) => type === 'text').map(textOf)
  t.equal(said.join(''), 'a [redacted] b')
  t.equal(parts.filter(({ type }) => type === 'reasoning').length, 4)

  const call = { type: 'tool.call', toolCallId: '1', toolName: 't', args: {} } as const
  for (const source of [['team'], ['team', 'm'], ['team', 'm', 'o']]) {
    const near = await engine.start(
      scriptedRunnable([say('sk-', 'team', 'm'), { ...call, source }]),
      'x',
      withKey
    )
    t.strictSame(told(await partsOf(near)), ['sk-', '<tool.call>', '<finish>'], source.join())
  }
  const far = [say('sk-', 'team', 'm'), { ...call, source: ['team', 'n'] }]
  const last = await engine.start(scriptedRunnable(far), 'x', withKey)
  t.strictSame(told(await partsOf(last)), ['<tool.call>', 'sk-', '<finish>'])
})

t.test('a canceled run has emitted all text', async (t) => {
  const engine = buildEngine(t)
  const run = await engine.start(scriptedRunnable([say('a sk-'), say('caller'), 60_000]), 'x', withKey)
  const result = run.result()
  await turn()
  t.strictSame((await engine.get(run.runId))?.result, null)
  await run.cancel()
  t.match(await result, { text: 'a sk-caller', finishReason: 'canceled' })
  t.strictSame(told(await partsOf(run)), ['a ', 'sk-caller', '<finish>'])
  t.match((await engine.get(run.runId))?.result, { text: 'a sk-caller' })
})

t.test('an approval request follows the held-back text, with the run’s state', async (t) => {
  const engine = buildEngine(t)
  const request = { toolCallId: '1', toolName: 't', args: {} }
  const asking = scriptedRunnable([say('sk-'), ({ approvals }) => approvals.request(request)])
  const run = await engine.start(asking, 'x', withKey)
  await turn()
  const { status, inputs } = (await engine.get(run.runId))!
  t.equal(status, 'input-required')
  await engine.answer(inputs[0]!.inputId, { approved: true })
  t.strictSame(told(await partsOf(run)), [
    'sk-',
    '<tool.approval.request>',
    '<tool.approval.response>',
    '<finish>'
  ])
})

t.test('the text of a step is in the log when its output is recorded, or the run is suspended', async (t) => {
  const stores = createInProcessStores()
  let logged: string[] = []
  const runs = {
    ...stores.runs,
    recordStep: async (...args: Parameters<typeof stores.runs.recordStep>) => {
      const entries = await stores.log.read(args[0], 0, { entries: 100, bytes: 100_000 })
      logged = told(entries.map(({ part }) => part))
      return stores.runs.recordStep(...args)
    }
  }
  const engine = buildEngine(t, { stores: { ...stores, runs } })
  const runnable = defineRunnable({
    kind: 'workflow',
    name: 'flow',
    resumable: true,
    async *stream(_input, context) {
      yield say('a sk-') as Extract<YieldedPart, { type: 'text' }>
      await context.step('one', () => 1)
      yield say('b sk-c')
      await new Promise(() => {})
    }
  })
  const run = await engine.start(runnable, 'x', withKey)
  run.result().catch(() => {})
  while (logged.length === 0) await turn()
  t.strictSame(logged, ['a ', 'sk-'])
  await turn()
  await engine.close()
  const entries = await stores.log.read(run.runId, 0, { entries: 100, bytes: 100_000 })
  t.strictSame(told(entries.map(({ part }) => part)), ['a ', 'sk-', 'b ', 'sk-c'])
})

t.test('text that exceeds the log limit is not emitted in part', async (t) => {
  const engine = buildEngine(t, { limits: { maxLogBytes: 1_024 } })
  const run = await engine.start(scriptedRunnable([say(`${'a'.repeat(1_024)} sk-`)]), 'x', withKey)
  t.equal(await codeOf(() => run.result()), 'RUN_ERR_LOG_LIMIT')
  t.strictSame(told(await partsOf(run)), ['<error>'])
  const endless = defineRunnable({
    kind: 'agent',
    name: 'endless',
    async *stream() {
      for (;;) {
        yield say('sk-')
        yield think('sk-')
      }
    }
  })
  t.equal(
    await codeOf(async () => (await engine.start(endless, 'x', withKey)).result()),
    'RUN_ERR_LOG_LIMIT',
    'held-back text counts'
  )
  const outcomes = new Set<string>()
  for (let length = 500; length < 1_000; length += 9) {
    const brimful = await engine.start(scriptedRunnable([say('a'.repeat(length)), say('sk-')]), 'x', withKey)
    const code = await codeOf(() => brimful.result())
    outcomes.add(
      `${told(await partsOf(brimful))
        .join('')
        .replaceAll('a', '')} ${String(code)}`
    )
  }
  t.strictSame(
    [...outcomes],
    ['sk-<finish> none', '<error> RUN_ERR_LOG_LIMIT'],
    'the rest at the end always fits'
  )
})

t.test('a custom redact function redacts each increment separately', async (t) => {
  const engine = buildEngine(t)
  const redact = <T>(value: T) => JSON.parse(JSON.stringify(value).replaceAll('secret', '*')) as T
  const run = await engine.start(scriptedRunnable([say('a secret'), say('sec'), say('ret')]), 'x', { redact })
  t.strictSame(told(await partsOf(run)), ['a *', 'sec', 'ret', '<finish>'])
})

const scripts = alikeKeys(3).chain((own) => {
  const text = textLike(own)
  const source = fc.constantFrom<string[]>(['m'], ['m', 'n'])
  const increment = fc.oneof(
    text.map((each) => say(each)),
    fc.record({ type: fc.constant('text' as const), text, source }),
    text.map(think)
  )
  const other = fc.constantFrom<YieldedPart>(
    { type: 'tool.call', toolCallId: '1', toolName: 't', args: {} },
    { type: 'step', index: 0, usage, source: ['m'] }
  )
  const script = fc.array(fc.oneof({ weight: 8, arbitrary: increment }, other), { maxLength: 24 })
  return fc.tuple(fc.constant(own), script)
})

type Told = YieldedPart | NumberedPart

const isIncrement = ({ type }: Told) => type === 'text' || type === 'reasoning'
const speechOf = ({ type, source = [] }: Told) => [type, ...source].join()

/** The texts that are redacted together: between other parts, and within those by type. */
function piecesOf(parts: readonly Told[], speech: string): string[][] {
  const pieces = [['']]
  for (const part of parts) {
    const last = pieces.at(-1)!
    if (!isIncrement(part)) pieces.push([''])
    else if (speechOf(part) === speech) last[last.length - 1] += textOf(part)
    else if (!speech.startsWith(part.type)) last.push('')
  }
  return pieces
}

/** The same texts, redacted. */
function redactPieces(pieces: readonly string[][], own: readonly string[]): string[] {
  const redacted = redactBySearch(pieces.flat(), own)
  return pieces.map(({ length }) => redacted.splice(0, length).join(''))
}

t.test('the emitted text is the original without keys, in order, for any script', async (t) => {
  const engine = buildEngine(t)
  await fc.assert(
    fc.asyncProperty(scripts, async ([own, script]) => {
      const run = await engine.start(scriptedRunnable(script), 'x', { redact: createRedact(own) })
      const { text } = await run.result()
      const parts = await partsOf(run)
      t.strictSame(
        parts.map(({ seq }) => seq),
        parts.map((_, index) => index + 1)
      )
      const middle = parts.slice(1, -1)
      const others = (each: readonly Told[]) =>
        each.filter((part) => !isIncrement(part)).map(({ type }) => type)
      t.strictSame(others(middle), others(script))
      const empty = (each: readonly Told[]) => each.filter((part) => textOf(part) === '').length
      t.equal(empty(middle), empty(script))
      for (const speech of new Set(script.filter(isIncrement).map(speechOf))) {
        const pieces = piecesOf(middle, speech).map((each) => each.join(''))
        t.strictSame(pieces, redactPieces(piecesOf(script, speech), own))
        const joined = pieces.join('')
        for (const each of own) t.notOk(joined.includes(each))
        if (speech === 'text') t.equal(text, joined)
      }
    }),
    { numRuns: cases(1_000) }
  )
})
