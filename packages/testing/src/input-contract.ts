import type { InputKind, StoredInput } from '@svc/contract'
import { storedRun, textEntry, type TestStores } from './stored-run.ts'

/** A pending approval. */
export function inputOf(inputId: string): StoredInput {
  const args = { __proto__x: 1, text: 'ünïcode \u0000 ✓' }
  return {
    inputId,
    kind: 'approval',
    toolCallId: 'c1',
    toolName: 'send',
    args,
    source: ['a', 'b'],
    path: ['a', 'b#1'],
    expiresAt: 9_000,
    answer: null
  }
}

/** The part of a `RunStore`'s contract about approvals, questions and client tools. */
export function inputContract(test: TestStores): void {
  test('accepts only the first answer to an input', async (t, { runs, log }) => {
    const { runId } = storedRun()
    await runs.create(storedRun({ runId }))
    const input = inputOf(`${runId}.1`)
    await log.append(runId, 1, [textEntry(1)], { status: 'input-required', at: 5, input })
    t.same((await runs.get(runId))?.inputs, [input])
    const answers = [
      { action: 'accept', content: { a: 1 } },
      { action: 'decline', reason: 'no' }
    ] as const
    // A store may commit them in any order.
    const accepted = await Promise.all(
      answers.map(async (each) => runs.answerInput(runId, input.inputId, each))
    )
    t.equal(accepted.filter(Boolean).length, 1)
    const answer = answers[accepted.indexOf(true)]
    for (const each of answers) t.equal(await runs.answerInput(runId, input.inputId, each), false)
    t.same((await runs.get(runId))?.inputs, [{ ...input, answer }])
    t.equal(await runs.answerInput(runId, 'missing', { action: 'accept' }), false)
    t.equal(await runs.answerInput('missing', input.inputId, { action: 'accept' }), false)
  })

  test('keeps inputs of every kind, with what each has', async (t, { runs, log }) => {
    const { runId } = storedRun()
    await runs.create(storedRun({ runId }))
    const common = { source: ['a'], path: ['a', 'b#1'], expiresAt: 9_000, answer: null }
    const inputs: StoredInput[] = [
      { ...common, inputId: `${runId}.1`, kind: 'question', message: 'Which?' },
      { ...common, inputId: `${runId}.2`, kind: 'question', message: 'How?', schema: false },
      {
        ...common,
        inputId: `${runId}.3`,
        kind: 'question',
        message: 'Who?',
        schema: { type: 'string' },
        toolCallId: 'c'
      },
      { ...common, inputId: `${runId}.4`, kind: 'tool', toolCallId: 'c', toolName: 'locate' },
      { ...common, inputId: `${runId}.5`, kind: 'tool', toolCallId: 'c', toolName: 'locate', args: null },
      { ...common, inputId: `${runId}.6`, kind: 'auth', message: 'Sign in' }
    ]
    for (const [index, input] of inputs.entries())
      await log.append(runId, 1, [textEntry(index + 1)], { status: 'input-required', at: 5, input })
    t.same((await runs.get(runId))?.inputs, inputs)
    const { waiting } = (await runs.find(runId))!
    t.same([waiting.approvals.count, waiting.inputs.count], [0, 6])
    const { path: _, ...listed } = inputs[2]!
    t.same((await runs.findInput(`${runId}.3`))?.input, { ...listed, argsBytes: 0 })
    const kindsOf = async (...kinds: InputKind[]) =>
      (await runs.listInputs({ kinds, limit: 9 })).inputs.map(({ input }) => input.kind)
    t.same(await kindsOf('approval'), [])
    t.same(await kindsOf('tool'), ['tool', 'tool'])
    t.same(await kindsOf('approval', 'auth', 'tool'), ['tool', 'tool', 'auth'])
  })

  test('replaces a sealed answer once, or removes it with its key', async (t, { runs, log }) => {
    const { runId } = storedRun()
    await runs.create(storedRun({ runId }))
    const inputs = [1, 2].map((count) => ({ ...inputOf(`${runId}.${count}`), sealKey: '{"kty":"EC"}' }))
    for (const [index, input] of inputs.entries())
      await log.append(runId, 1, [textEntry(index + 1)], { status: 'input-required', at: 5, input })
    t.same((await runs.get(runId))?.inputs, inputs)
    const [{ inputId, ...input }, other] = inputs as [StoredInput, StoredInput]
    t.equal((await runs.findInput(inputId))?.input.sealKey, '{"kty":"EC"}')
    const sealed = { action: 'accept', sealed: 'a.b' } as const
    const open = { action: 'accept', content: { a: 1 } } as const
    t.equal(await runs.replaceAnswer(inputId, sealed, open), false, 'it has none')
    for (const each of inputs) t.equal(await runs.answerInput(runId, each.inputId, sealed), true)
    t.equal(await runs.replaceAnswer(inputId, { ...sealed, sealed: 'a.c' }, open), false, 'it has another')
    t.equal(await runs.replaceAnswer(inputId, sealed, open), true)
    t.equal(await runs.replaceAnswer(inputId, sealed, null), false, 'it is replaced')
    t.equal(await runs.replaceAnswer(other.inputId, sealed, null), true)
    t.equal((await runs.find(runId))?.waiting.approvals.count, 1)
    const { sealKey: _, ...rest } = input
    const { sealKey: __, ...pending } = other
    t.same((await runs.get(runId))?.inputs, [{ inputId, ...rest, answer: open }, pending])
    t.equal(await runs.answerInput(runId, other.inputId, open), true)
  })

  test('gives a pending input another key', async (t, { runs, log }) => {
    const { runId } = storedRun()
    await runs.create(storedRun({ runId }))
    const input: StoredInput = { ...inputOf(`${runId}.1`), sealKey: '{"kty":"EC"}' }
    const { inputId } = input
    await log.append(runId, 1, [textEntry(1)], { status: 'input-required', at: 5, input })
    t.equal((await runs.findInput(inputId))?.input.sealKey, '{"kty":"EC"}')
    t.equal(await runs.replaceAnswer(inputId, null, null, '{"kty":"OKP"}'), true)
    t.equal((await runs.findInput(inputId))?.input.sealKey, '{"kty":"OKP"}')
    t.same((await runs.get(runId))?.inputs, [{ ...input, sealKey: '{"kty":"OKP"}' }])
    const sealed = { action: 'accept', sealed: 'a.b', secret: true } as const
    t.equal(await runs.answerInput(runId, inputId, sealed), true)
    t.equal(await runs.replaceAnswer(inputId, null, null, '{"kty":"RSA"}'), false, 'it is answered')
    t.equal(await runs.replaceAnswer(inputId, sealed, null, '{"kty":"RSA"}'), true)
    t.same((await runs.get(runId))?.inputs, [{ ...input, sealKey: '{"kty":"RSA"}' }])
  })

  test('accepts no answer after the end of the run', async (t, { runs, log }) => {
    const { runId } = storedRun()
    await runs.create(storedRun({ runId }))
    const input = inputOf(`${runId}.1`)
    await log.append(runId, 1, [textEntry(1)], { status: 'input-required', at: 5, input })
    await log.append(runId, 1, [textEntry(2)], { status: 'canceled', at: 6 })
    t.equal(await runs.answerInput(runId, input.inputId, { action: 'accept' }), false)
  })
}
