import { createContext, defineRunnable, type RunResult, type YieldedPart } from '@svc/registry'
import { toRunnables } from '../../src/runnables/define-runnable.ts'
import { Type } from '@sinclair/typebox'
import t from 'tap'

const context = createContext({ sessionId: 's', runId: 'r' })

async function yielded(stream: AsyncIterable<YieldedPart>): Promise<YieldedPart[]> {
  const parts: YieldedPart[] = []
  for await (const part of stream) parts.push(part)
  return parts
}

t.test('derives `stream` from `run`', async (t) => {
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

t.test('derives `run` from `stream`', async (t) => {
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

t.test('run throws the error of an error part', async (t) => {
  const runnable = defineRunnable({
    kind: 'agent',
    name: 'a',
    async *stream() {
      yield { type: 'error', error: { code: 'RUN_ERR_X', message: 'no', retryable: true } }
    }
  })
  await t.rejects(runnable.run('x', context), { code: 'RUN_ERR_X', message: 'no' })
})

t.test('an invalid return value of run is an error of the runnable', async (t) => {
  for (const output of [5, null, undefined, {}, { text: 5 }, ['x']]) {
    const runnable = defineRunnable({ kind: 'agent', name: 'a', run: (() => output) as never })
    await t.rejects(runnable.run('x', context), { code: 'RUN_ERR_BAD_RESULT', statusCode: 500 })
  }
})

t.test('describe always returns the actual kind and name', async (t) => {
  const inputSchema = Type.Object({ a: Type.Number() })
  const runnable = defineRunnable({
    kind: 'workflow',
    name: 'a',
    description: 'Adds',
    inputSchema,
    run: () => '',
    describe: () => ({ kind: 'agent', name: 'b', steps: ['one'] })
  })
  t.strictSame(runnable.describe(), {
    kind: 'workflow',
    name: 'a',
    description: 'Adds',
    input: inputSchema,
    steps: ['one']
  })
})

t.test('refuses values that are not runnables', async (t) => {
  for (const bad of [
    { run: () => '', describe: 'me' },
    { run: null },
    { stream: {} },
    { run: () => '', stream: 1 }
  ])
    t.throws(() => defineRunnable({ kind: 'agent', name: 'a', ...bad } as never), {
      code: 'REG_ERR_BAD_RUNNABLE'
    })
  for (const kind of [undefined, 'AGENT', 'toString', Symbol('s'), Object.create(null) as object])
    t.throws(() => defineRunnable({ kind, name: 'a', run: () => '' } as never), { code: 'REG_ERR_BAD_KIND' })
})

t.test('keeps the card of a definition, and refuses a bad one', async (t) => {
  const card = {
    title: 'Ada',
    tags: ['counting'],
    inputModes: ['*/*', 'image/*', 'text/plain; charset="utf-8"'],
    outputModes: ['application/vnd.x+json'],
    iconUrl: 'https://example.org/x.png',
    security: [{ bearer: ['read'] }]
  }
  const given = { kind: 'agent', name: 'a', run: () => '', card } as const
  t.strictSame(defineRunnable(given).card, card)
  t.strictSame(toRunnables({ b: given })[0]?.card, card)
  t.equal(defineRunnable({ ...given, card: undefined }).card, undefined)
  const cases: [card: unknown, fault: RegExp][] = [
    [null, /"a" has a bad card: card: expected an object, got null/],
    [{ titel: 'x' }, /card\/titel: no such field/],
    [{ title: '' }, /card\/title/],
    [{ tags: [] }, /card\/tags/],
    [{ tags: 'x' }, /card\/tags: expected a list that is not empty, got a string/],
    [{ inputModes: [] }, /card\/inputModes/],
    ...['text', 'text/', '/plain', '*', '*/plain', 'text/*; q=1', 'a b/c', 'text/plain\r\n', 'text/pl*'].map(
      (mode): [unknown, RegExp] => [{ outputModes: [mode] }, /card\/outputModes\/0/]
    ),
    ...['/x', 'ftp://x/', 'https://', 'https:///x', 'https://x/ y', 'javascript:alert(1)'].map(
      (url): [unknown, RegExp] => [
        { documentationUrl: url, iconUrl: url },
        /card\/documentationUrl.*card\/iconUrl/
      ]
    ),
    [{ security: { bearer: [] } }, /card\/security/]
  ]
  for (const [bad, fault] of cases)
    t.throws(
      () => defineRunnable({ ...given, card: bad } as never),
      { code: 'REG_ERR_BAD_RUNNABLE', message: fault },
      JSON.stringify(bad)
    )
})

t.test('a method sees its own object, a getter is read', async (t) => {
  class Counter {
    readonly kind = 'agent'
    #count = 0
    get name() {
      return 'counter'
    }
    run() {
      return String(++this.#count)
    }
  }
  const runnable = defineRunnable(new Counter())
  await runnable.run('x', context)
  t.match(await runnable.run('x', context), { text: '2' })
  t.equal(runnable.name, 'counter')
})

t.test('collecting a stream closes it after its finish', async (t) => {
  let left = 0
  const stream = (end: YieldedPart) =>
    defineRunnable({
      kind: 'agent',
      name: 'a',
      async *stream() {
        try {
          yield { type: 'structured', value: undefined }
          yield end
          yield { type: 'text', text: 'too late' }
        } finally {
          left++
        }
      }
    })
  const finish = await stream({ type: 'finish', finishReason: 'length' }).run('x', context)
  t.strictSame([finish.text, finish.finishReason, finish.structured], ['', 'length', null])
  const error = { code: 'RUN_ERR_X', message: 'x', retryable: false }
  await t.rejects(stream({ type: 'error', error }).run('x', context), { code: 'RUN_ERR_X' })
  t.match(await stream({ type: 'error', error, source: ['m'] }).run('x', context), { text: 'too late' })
  t.equal(left, 3)
})

t.test('a complete runnable is returned unchanged', async (t) => {
  const complete = defineRunnable({ kind: 'agent', name: 'a', run: () => '' })
  t.equal(defineRunnable(complete), complete)
  class Fixed {
    get kind() {
      return 'agent' as const
    }
    get name() {
      return 'fixed'
    }
    async *stream() {}
    run() {
      return '' as never
    }
    describe() {
      return { kind: this.kind, name: this.name }
    }
  }
  const fixed = new Fixed()
  t.equal(defineRunnable(fixed), fixed)
  t.equal(defineRunnable(Object.freeze({ ...whole })).kind, 'agent')
})

const whole = {
  kind: 'agent' as 'agent' | 'team',
  name: 'whole',
  description: 'one',
  resumable: true,
  async *stream(): AsyncGenerator<YieldedPart> {
    yield { type: 'text', text: 'streamed' }
  },
  run: () => Promise.resolve({ text: 'run' } as RunResult),
  describe: () => ({ kind: 'agent' as const, name: 'whole', steps: ['a'] })
}

t.test('its kind and name are constant, and the source object stays unfrozen', async (t) => {
  const own = { ...whole }
  for (const runnable of [
    defineRunnable(own),
    defineRunnable({ kind: 'agent', name: 'whole', run: () => 'run' }),
    toRunnables({ whole: { ...whole, name: 'other' } })[0]!
  ]) {
    for (const [key, value] of Object.entries({ kind: 'team', name: 'evil' })) {
      t.throws(() => Object.assign(runnable, { [key]: value }), TypeError)
      t.notOk(Reflect.set(runnable, key, value))
    }
    t.match(runnable, { kind: 'agent', name: 'whole' })
    t.match(runnable.describe(), { kind: 'agent', name: 'whole' })
  }
  const runnable = defineRunnable(own)
  own.kind = 'team'
  own.name = 'evil'
  own.description = 'two'
  t.match(runnable, { kind: 'agent', name: 'whole', description: 'two', resumable: true })
  t.match(await runnable.run('x', context), { text: 'run' })
  t.strictSame(runnable.describe(), { kind: 'agent', name: 'whole', steps: ['a'] })
})
