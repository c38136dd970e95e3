import type { YieldedPart } from '@svc/registry'
import t from 'tap'
import { RunModel } from '../../page/models/run-model.ts'

/** The texts that a view shows after these parts, each with its source. */
function textsOf(parts: readonly YieldedPart[]): string[] {
  const model = new RunModel('run')
  model.push(parts.map((part, index) => ({ ...part, seq: index + 1 })) as Parameters<RunModel['push']>[0])
  return model.items.flatMap((item) =>
    item.kind === 'text'
      ? [`${item.source.join('/')}: ${item.text}`]
      : [`${item.kind} ${item.source.join('/')}`]
  )
}

const text = (name: string, said: string): YieldedPart => ({
  type: 'text',
  text: said,
  source: name.split('/')
})
const step = (name: string, attempt = 1, index = 0): YieldedPart => ({
  type: 'step.start',
  index,
  attempt,
  source: name.split('/')
})
const finish = (name: string): YieldedPart => ({
  type: 'finish',
  finishReason: 'stop',
  usage: { promptTokens: 0, completionTokens: 0, totalTokens: 0 },
  durationMs: 0,
  structured: null,
  source: name.split('/')
})

t.test('parallel members that are retried show what counts, each in one text', async (t) => {
  const begun = [step('a'), text('a', 'A1'), step('b'), text('b', 'B1')]
  t.strictSame(textsOf([...begun, step('a', 2), text('b', '+'), text('a', 'A2')]), ['b: B1+', 'a: A2'])
  t.strictSame(
    textsOf([...begun, step('a', 2), text('a', 'A2'), text('b', 'B2'), step('b', 2), text('b', 'B3')]),
    ['a: A2', 'b: B3']
  )
})

t.test('what runs within a member is void with it, and what others did is not', async (t) => {
  const call: YieldedPart = {
    type: 'tool.call',
    toolCallId: 'c',
    toolName: 'x',
    args: {},
    source: ['a', 'm']
  }
  const parts = [step('a'), text('a/m', 'within'), call, text('b', 'beside')]
  t.strictSame(textsOf([...parts, step('a', 2), text('a', 'again')]), ['b: beside', 'a: again'])
})

t.test('the compaction of a prompt that was refused stays when its step is made again', async (t) => {
  const compaction: YieldedPart = {
    type: 'compaction',
    index: 0,
    reason: 'overflow',
    before: 108_000,
    after: 31_000,
    messages: 37,
    keeps: 4,
    cut: 0,
    text: 'Known.'
  }
  const begin = (attempt: number): YieldedPart => ({ type: 'step.start', index: 0, attempt })
  const said: YieldedPart = { type: 'text', text: 'x' }
  t.strictSame(textsOf([begin(1), said, compaction, begin(2), said]), ['compaction ', ': x'])
  t.strictSame(textsOf([step('a'), { ...compaction, source: ['a'] }, step('a', 2)]), [])
})

t.test('the next call of a member voids nothing of the one before', async (t) => {
  const parts = [step('a'), text('a', 'one'), finish('a'), step('a', 2), text('a', 'two')]
  t.strictSame(textsOf(parts), ['a: one', 'a: two'])
})

t.test('a text of the run itself that another part interrupts is two', async (t) => {
  const own = (said: string): YieldedPart => ({ type: 'text', text: said })
  t.strictSame(textsOf([own('a'), own('b'), text('m', 'x'), own('c')]), [': ab', 'm: x', ': c'])
})

t.test('calls of two steps with the same id are two, and a result of a void call is none', async (t) => {
  const call: YieldedPart = { type: 'tool.call', toolCallId: 'c', toolName: 'x', args: {}, source: ['a'] }
  const { args: _, ...about } = call
  const result: YieldedPart = { ...about, type: 'tool.result', result: 1, durationMs: 1 }
  t.strictSame(textsOf([step('a'), call, result, step('a', 1, 1), call, result]), ['tool a', 'tool a'])
  t.strictSame(textsOf([step('a'), call, step('a', 2), result]), [])
})
