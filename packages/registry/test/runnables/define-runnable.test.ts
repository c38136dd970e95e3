import { createContext, defineRunnable, type YieldedPart } from '@svc/registry'
import t from 'tap'

const context = createContext({ sessionId: 's', runId: 'r' })

async function yielded(stream: AsyncIterable<YieldedPart>): Promise<YieldedPart[]> {
  const parts: YieldedPart[] = []
  for await (const part of stream) parts.push(part)
  return parts
}

t.test('makes stream from run', async (t) => {
  const text = defineRunnable({ kind: 'agent', name: 'a', run: (input) => `re: ${String(input)}` })
  t.same(await yielded(text.stream('x', context)), [
    { type: 'text', text: 're: x' },
    { type: 'finish', finishReason: 'stop' }
  ])
  const both = defineRunnable({
    kind: 'agent',
    name: 'a',
    run: async () => ({ text: '', structured: { a: 1 } })
  })
  t.match(await both.run('x', context), {
    text: '',
    structured: { a: 1 },
    runId: 'r',
    sessionId: 's',
    finishReason: 'stop'
  })
})

t.test('makes run from stream', async (t) => {
  const runnable = defineRunnable({
    kind: 'team',
    name: 'a',
    async *stream() {
      yield { type: 'text', text: 'one ' }
      yield { type: 'text', text: 'two' }
      yield { type: 'text', text: 'aside', source: ['member'] }
    }
  })
  t.match(await runnable.run('x', context), {
    text: 'one two',
    usage: { totalTokens: 0 },
    finishReason: 'stop'
  })
  t.same(runnable.describe(), { kind: 'team', name: 'a' })
})

t.test('run throws what an error part says', async (t) => {
  const runnable = defineRunnable({
    kind: 'agent',
    name: 'a',
    async *stream() {
      yield { type: 'error', error: { code: 'RUN_ERR_X', message: 'no', retryable: true } }
    }
  })
  await t.rejects(runnable.run('x', context), { code: 'RUN_ERR_X', message: 'no' })
})

t.test('a run that returns nothing of use is an error', async (t) => {
  const runnable = defineRunnable({ kind: 'agent', name: 'a', run: (() => 5) as never })
  await t.rejects(runnable.run('x', context), { code: 'REG_ERR_BAD_RUNNABLE' })
})

t.test('what is complete stays what it is', async (t) => {
  const complete = defineRunnable({ kind: 'agent', name: 'a', run: () => '' })
  t.equal(defineRunnable(complete), complete)
})
