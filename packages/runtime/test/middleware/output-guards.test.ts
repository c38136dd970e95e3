import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { Type } from '@sinclair/typebox'
import { createInProcessStores, createRunEngine, type NumberedPart } from '@svc/registry'
import {
  defineTool,
  guard,
  type AgentOptions,
  type Block,
  type GuardState,
  type Middleware,
  type TextHold
} from '@svc/runtime'
import { scriptedModel, type ScriptedTurn } from '@svc/runtime/testing'
import t from 'tap'
import { collect, makeAgent, makeContext } from '../helpers/make-agent.ts'
import { makeTeam, runIn } from '../helpers/make-team.ts'
import { makeWorkflow } from '../helpers/make-workflow.ts'
import { createRandom } from '../helpers/random.ts'

const look = defineTool({ name: 'look', description: 'Looks', input: Type.Object({}), execute: () => 'seen' })

const FINISH: LanguageModelV4StreamPart = {
  type: 'finish',
  finishReason: { unified: 'tool-calls', raw: undefined },
  usage: {
    inputTokens: { total: 1, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: 1, text: undefined, reasoning: undefined }
  }
}

const guardsIn = (parts: readonly NumberedPart[]) => parts.filter((part) => part.type === 'guard')

const textIn = (parts: readonly NumberedPart[], type: 'text' | 'reasoning' = 'text') =>
  parts.map((part) => (part.type === type ? (part as { text: string }).text : '')).join('')

const replace = { action: 'replace' } as const

/** A guard against a word: it replaces it, or blocks. */
const against = (word: string, hold: TextHold, verdict: typeof replace | Block) =>
  guard({
    name: 'word',
    on: ['output', 'reasoning'],
    hold,
    check({ held }) {
      if (!held.includes(word)) return undefined
      return verdict.action === 'block' ? verdict : { action: 'replace', text: held.replaceAll(word, '[-]') }
    }
  })

t.test('what is blocked is nowhere, and the run fails', async (t) => {
  const { agent } = makeAgent(
    {
      text: ['Fine so far. ', 'Here is the sec', 'ret key. ', 'More.'],
      toolCalls: [{ toolName: 'look', args: {} }]
    },
    { tools: [look], use: [blockWord({ reason: 'No keys' })] }
  )
  const { parts, error, record } = await runIn(agent, 'Hi', { sessionId: 's' })
  t.match(error, { code: 'RUN_ERR_BLOCKED', message: 'No keys' })
  t.equal(record?.status, 'failed')
  t.equal(textIn(parts), 'Fine so far. ')
  t.match(guardsIn(parts), [{ name: 'word', on: 'output', action: 'block', reason: 'No keys', index: 0 }])
  t.notMatch(JSON.stringify(parts), /sec|ret key/)
  t.notOk(parts.some(({ type }) => type === 'tool.call'))
})

function blockWord(more: object): Middleware {
  return guard({
    name: 'word',
    on: ['output'],
    check: ({ held }) => (held.includes('secret') ? { action: 'block', ...more } : undefined)
  })
}

t.test('a block may answer in the place of what is held', async (t) => {
  const turns = [
    { text: 'Fine so far. Here is the secret key.', toolCalls: [{ toolName: 'look', args: {} }] },
    'Next'
  ]
  const { agent, model } = makeAgent(turns, { tools: [look], use: [blockWord({ answer: 'I stop here.' })] })
  const { context } = makeContext({ sessionId: 's' })
  const { parts, text, ofType } = await collect(agent.stream('Hi', context))
  t.equal(text, 'Fine so far. I stop here.')
  t.match(ofType('step'), [{ finishReason: 'content-filter' }])
  t.match(parts.at(-1), { type: 'finish', finishReason: 'content-filter' })
  await collect(agent.stream('and?', context))
  t.equal(model.calls.length, 2, 'its call of a tool is not made')
  t.match(model.calls[1]!.prompt.slice(-2), [
    { role: 'assistant', content: [{ type: 'text', text: 'Fine so far. I stop here.' }] },
    { role: 'user' }
  ])
})

t.test('an answer of a guard is not corrected to the output of the agent', async (t) => {
  const { agent, model } = makeAgent('{"key": "secret"}', {
    output: Type.Object({ key: Type.String() }),
    use: [blockWord({ answer: 'No.' })]
  })
  const { result } = await runIn(agent)
  t.match(result, { text: 'No.', structured: null, finishReason: 'content-filter' })
  t.equal(model.calls.length, 1)
})

t.test('tools, session and later prompts have the text that passed', async (t) => {
  const { agent, model } = makeAgent(
    [{ text: 'the secret', toolCalls: [{ toolName: 'look', args: {} }] }, 'a secret too', 'Next'],
    { tools: [look], use: [against('secret', 'step', replace)] }
  )
  const { context } = makeContext({ sessionId: 's' })
  const { text, types } = await collect(agent.stream('Hi', context))
  t.equal(text, 'the [-]a [-] too')
  t.same(types.slice(0, 5), ['step.start', 'guard', 'text', 'tool.call', 'step'])
  await collect(agent.stream('and?', context))
  t.notMatch(JSON.stringify(model.calls.map(({ prompt }) => prompt)), 'secret')
  t.match(model.calls[2]!.prompt, [
    { role: 'user' },
    { role: 'assistant', content: [{ text: 'the [-]' }, { type: 'tool-call' }] },
    { role: 'tool' },
    { role: 'assistant', content: [{ text: 'a [-] too' }] },
    { role: 'user' }
  ])
})

t.test('a text is one, whatever blocks and calls are in it', async (t) => {
  const parts: LanguageModelV4StreamPart[] = [
    { type: 'text-start', id: 'a' },
    { type: 'text-delta', id: 'a', delta: 'the sec' },
    { type: 'text-end', id: 'a' },
    { type: 'tool-call', toolCallId: 'c', toolName: 'look', input: '{}' },
    { type: 'text-start', id: 'b' },
    { type: 'text-delta', id: 'b', delta: 'ret' },
    { type: 'text-end', id: 'b' },
    FINISH
  ]
  const { agent } = makeAgent([{ parts }, 'Done'], { tools: [look], use: [against('secret', 10, replace)] })
  const { parts: logged } = await runIn(agent)
  t.equal(textIn(logged), 'the [-]Done')
  t.same(
    logged.map(({ type }) => type).filter((type) => type === 'text' || type === 'tool.call'),
    ['text', 'tool.call', 'text']
  )
})

t.test('what is held when a stream breaks is dropped', async (t) => {
  const { agent } = makeAgent(
    { text: 'Fine so far. And the rest', breaks: new Error('gone') },
    { use: [against('secret', 'sentence', replace)] }
  )
  const { parts, error } = await runIn(agent)
  t.match(error, { code: 'RUN_ERR_MODEL_STREAM_BROKEN' })
  t.equal(textIn(parts), 'Fine so far. ')
})

t.test('what is held when a run is canceled is dropped, also while it is checked', async (t) => {
  const checking = Promise.withResolvers<AbortSignal>()
  const { agent } = makeAgent('Fine so far. And the rest.', {
    use: [
      {
        name: 'slow',
        onText: {
          hold: 'sentence',
          check({ final, signal }) {
            if (final) checking.resolve(signal)
            return final ? new Promise(() => {}) : undefined
          }
        }
      }
    ]
  })
  const engine = createRunEngine({ drainTimeout: 0 })
  t.teardown(() => engine.close())
  const run = await engine.start(agent, 'Hi', { sessionId: 's' })
  const signal = await checking.promise
  await engine.cancel(run.runId)
  const parts: NumberedPart[] = []
  for await (const part of run.parts()) parts.push(part)
  t.equal(textIn(parts), 'Fine so far. ')
  t.ok(signal.aborted)
  t.equal((await engine.get(run.runId))?.status, 'canceled')
})

t.test('a check that fails lets nothing pass, or all', async (t) => {
  const failing = [
    () => Promise.reject(new Error('gone')),
    () => new Promise(() => {}),
    () => ({ action: 'x' })
  ]
  for (const check of failing)
    for (const onError of ['block', 'allow'] as const) {
      const options = { name: 'g', on: ['output'] as const, timeout: 20, onError, check }
      const { agent, model } = makeAgent('Hello.', {
        use: [guard(options as unknown as Parameters<typeof guard>[0])]
      })
      const { parts, error } = await runIn(agent)
      t.equal(error?.code, onError === 'block' ? 'RUN_ERR_GUARD_FAILED' : undefined)
      t.equal(textIn(parts), onError === 'block' ? '' : 'Hello.')
      t.equal(model.calls.length, 1, 'the model is not called again')
    }
})

t.test('the innermost guard is asked first: the outer ones see what leaves', async (t) => {
  const seen: string[] = []
  const add = (name: string): Middleware => ({
    name,
    onText: {
      hold: 'step',
      check({ held, of, text, final, stepNumber, runnable }) {
        seen.push(`${name} of ${runnable.name}: ${held}`)
        t.match({ of, text, final, stepNumber }, { of: 'text', text: held, final: true, stepNumber: 0 })
        return { action: 'replace', text: `${held} ${name}` }
      }
    }
  })
  const { agent } = makeAgent('Hi', { use: [add('own'), add('inner')] })
  const flow = makeWorkflow((steps) => steps.step('agent', agent), { use: [add('flow')] })
  const team = makeTeam({ mode: 'sequence', members: [flow], use: [add('team')] })
  const { result } = await runIn(team)
  t.same(seen, [
    'inner of tester: Hi',
    'own of tester: Hi inner',
    'flow of tester: Hi inner own',
    'team of tester: Hi inner own flow'
  ])
  t.equal(result?.text, 'Hi inner own flow team')
})

t.test('a leader is guarded by the list of its team', async (t) => {
  const member = makeAgent('x').agent
  const use = [against('secret', 'step', replace)]
  const team = makeTeam({ mode: 'coordinate', members: [member], model: scriptedModel('the secret'), use })
  t.equal((await runIn(team)).result?.text, 'the [-]')
})

t.test('an audit holds nothing, and reports what it saw', async (t) => {
  const released = Promise.withResolvers<void>()
  const states: Pick<GuardState, 'held' | 'final'>[] = []
  const audit = guard({
    name: 'audit',
    on: ['output'],
    mode: 'audit',
    async check({ held, final }) {
      states.push({ held, final })
      await released.promise
      return { action: 'block', reason: 'r' }
    }
  })
  const { agent } = makeAgent({ text: ['One sentence. ', 'Another', ' one.'] }, { use: [audit] })
  const engine = createRunEngine({ drainTimeout: 0 })
  t.teardown(() => engine.close())
  const run = await engine.start(agent, 'Hi')
  let text = ''
  const parts: NumberedPart[] = []
  for await (const part of run.parts()) {
    parts.push(part)
    if (part.type === 'text') text += part.text
    if (text === 'One sentence. Another one.') released.resolve()
  }
  t.same(states, [
    { held: 'One sentence. ', final: false },
    { held: 'Another one.', final: true }
  ])
  t.match(guardsIn(parts), [{ action: 'audit', reason: 'r' }, { action: 'audit' }])
  t.equal((await run.result()).text, 'One sentence. Another one.')
})

t.test('a signature of reasoning goes where the reasoning was changed', async (t) => {
  const signed = (text: string): ScriptedTurn => ({
    parts: [
      { type: 'reasoning-start', id: 'r' },
      { type: 'reasoning-delta', id: 'r', delta: text },
      { type: 'reasoning-delta', id: 'r', delta: '', providerMetadata: { p: { signature: 's' } } },
      { type: 'reasoning-end', id: 'r' },
      { type: 'tool-call', toolCallId: `c${text.length}`, toolName: 'look', input: '{}' },
      FINISH
    ]
  })
  const use = [against('secret', 'step', replace)]
  const { agent, model } = makeAgent([signed('a thought'), signed('a secret'), 'Done'], {
    tools: [look],
    use
  })
  await runIn(agent)
  const thoughts = model.calls[2]!.prompt.flatMap(({ role, content }) =>
    role === 'assistant' ? content.filter(({ type }) => type === 'reasoning') : []
  )
  t.same(thoughts, [
    { type: 'reasoning', text: 'a thought', providerOptions: { p: { signature: 's' } } },
    { type: 'reasoning', text: 'a [-]' }
  ])
})

t.test('increments of arguments are not shown', async (t) => {
  const turn: ScriptedTurn = {
    parts: [
      { type: 'tool-input-start', id: 'c', toolName: 'look' },
      { type: 'tool-input-delta', id: 'c', delta: '{}' },
      { type: 'tool-input-end', id: 'c' },
      { type: 'tool-call', toolCallId: 'c', toolName: 'look', input: '{}' },
      FINISH
    ]
  }
  const options = (use: Middleware[]): Partial<AgentOptions> => ({ tools: [look], toolCallDeltas: true, use })
  const types = async (use: Middleware[]) => {
    const { parts } = await runIn(makeAgent([turn, 'Done'], options(use)).agent)
    return parts.map(({ type }) => type)
  }
  t.ok((await types([])).includes('tool.call.delta'))
  const guarded = await types([against('secret', 40, replace)])
  t.notOk(guarded.includes('tool.call.delta'))
  t.ok(guarded.includes('tool.result'))
})

const FORBIDDEN = [
  'bomb recipe',
  '4111-1111 1111',
  'geheim\u{1f4a3}wort',
  'Zebra\u0301\u200dcode 7 of the old house ok'
]

t.test('no part of a forbidden text is ever logged, however it is split', async (t) => {
  const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31))
  t.comment(`seed ${seed}`)
  const random = createRandom(seed)
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)]!
  const filler = () =>
    Array.from({ length: Math.floor(random() * 30) }, () =>
      pick(['lorem ', 'ipsum, ', 'dolor. ', 'sit\n', '\u{1f600}', 'amet! '])
    ).join('')
  const split = (text: string) => {
    const pieces: string[] = []
    for (let at = 0; at < text.length;) {
      const length = 1 + Math.floor(random() * pick([1, 3, 12, 200]))
      pieces.push(text.slice(at, at + length))
      at += length
    }
    return pieces
  }
  for (let count = 0; count < 300; count++) {
    const word = pick(FORBIDDEN)
    const hold = pick<TextHold>([40, 'sentence', 'step', word.length])
    const text = [filler(), ...Array.from({ length: Math.floor(random() * 3) }, () => word + filler())].join(
      ''
    )
    const verdict = pick([replace, { action: 'block' }, { action: 'block', answer: 'No.' }] as const)
    const hasWord = text.includes(word)
    const turn = { text: split(text), reasoning: split(filler() + pick(['', word])) }
    const stores = createInProcessStores()
    const { agent, model } = makeAgent(
      [{ ...turn, toolCalls: [{ toolName: 'look', args: {} }] }, turn, 'End'],
      {
        tools: [look],
        use: [against(word, hold, verdict)]
      }
    )
    const engine = createRunEngine({ stores, drainTimeout: 0 })
    const run = await engine.start(agent, 'Hi', { sessionId: 's' })
    const live: NumberedPart[] = []
    for await (const part of run.parts()) live.push(part)
    const late: NumberedPart[] = []
    for await (const part of engine.parts(run.runId)) late.push(part)
    const result = await run.result().catch(() => undefined)
    const record = await engine.get(run.runId)
    await (await engine.start(agent, 'Next', { sessionId: 's' })).result().catch(() => {})
    await engine.close()
    const about = `${count}: ${JSON.stringify({ word, hold, verdict, turn })}`
    const everywhere = JSON.stringify([live, late, result, record, model.calls.map(({ prompt }) => prompt)])
    const isSaid = [textIn(live), textIn(live, 'reasoning'), everywhere].some(
      (said) => said.includes(word) || said.includes(JSON.stringify(word).slice(1, -1))
    )
    if (isSaid) t.fail(about)
    t.equal(JSON.stringify(late), JSON.stringify(live))
    if (verdict === replace && textIn(live) !== text.replaceAll(word, '[-]').repeat(2)) t.fail(about)
    if (verdict !== replace && hasWord) t.match(guardsIn(live), [{ action: 'block' }])
  }
})
