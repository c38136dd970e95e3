import { collectRun, RunResultBuilder } from '../src/run-result.ts'
import { type Part } from '../src/part.ts'
import * as fc from 'fast-check'
import t from 'tap'

const usage = (n: number) => ({ promptTokens: n, completionTokens: n, totalTokens: 2 * n })

t.test('collects a result from parts', async (t) => {
  const parts: Part[] = [
    { type: 'start', runId: 'r', sessionId: 's', kind: 'agent', name: 'a' },
    { type: 'step.start', index: 0, attempt: 1 },
    { type: 'text', text: 'let me see' },
    { type: 'tool.call', toolCallId: '1', toolName: 't', args: { a: 1 } },
    { type: 'tool.call', toolCallId: '2', toolName: 'u', args: {} },
    { type: 'tool.call', toolCallId: '1', toolName: 'm', args: {}, source: ['member'] },
    { type: 'tool.approval.response', approvalId: 'x', toolCallId: '1', approved: true, args: { a: 2 } },
    { type: 'tool.error', toolCallId: '2', toolName: 'u', error: { code: 'X', message: 'y' } },
    { type: 'tool.result', toolCallId: '1', toolName: 't', result: 3, durationMs: 5 },
    { type: 'tool.result', toolCallId: '1', toolName: 'm', result: 4, durationMs: 6, source: ['member'] },
    { type: 'step', index: 0, usage: usage(1) },
    { type: 'step', index: 0, usage: usage(1), source: ['member'] },
    { type: 'step.start', index: 1, attempt: 1 },
    { type: 'text', text: 'void' },
    { type: 'step.start', index: 1, attempt: 2 },
    { type: 'text', text: 'the ' },
    { type: 'text', text: 'aside', source: ['member'] },
    { type: 'step.start', index: 0, attempt: 1, source: ['member'] },
    { type: 'text', text: 'answer' },
    { type: 'structured', value: { b: 1 } },
    { type: 'step', index: 1, usage: usage(2) },
    { type: 'finish', finishReason: 'stop', usage: usage(9), durationMs: 12, structured: { b: 1 } }
  ]
  t.same(await collectRun(parts), {
    text: 'the answer',
    toolCalls: [
      { toolCallId: '1', toolName: 't', args: { a: 2 }, result: 3, durationMs: 5 },
      { toolCallId: '2', toolName: 'u', args: {}, error: { code: 'X', message: 'y' }, durationMs: 0 },
      { toolCallId: '1', toolName: 'm', args: {}, result: 4, durationMs: 6, source: ['member'] }
    ],
    usage: usage(9),
    structured: { b: 1 },
    durationMs: 12,
    runId: 'r',
    sessionId: 's',
    finishReason: 'stop'
  })
  const cut = await collectRun(parts.slice(0, -1))
  t.same(cut.usage, usage(4), 'without a finish the steps are summed')
  t.equal(cut.finishReason, 'other')
})

t.test('the text of a call is what was spoken in its last turn; its audio are files', async (t) => {
  const turn = (index: number, text: string): Part => ({
    type: 'voice.turn',
    index,
    itemId: `i${index}`,
    status: 'interrupted',
    heardMs: 10,
    text,
    latency: {}
  })
  const file = { fileId: 'f', mimeType: 'audio/wav', size: 3, sha256: 'aa' }
  const audio = { type: 'voice.audio', itemId: 'i', ...file, durationMs: 4 } as const
  const parts: Part[] = [
    { type: 'voice.transcript', itemId: 'u', text: 'Hello', final: true, startMs: 0, endMs: 1 },
    { ...audio, role: 'user' },
    { type: 'text', text: 'One moment. ' },
    { type: 'step.start', index: 1, attempt: 1 },
    { type: 'text', text: 'It is' },
    { type: 'text', text: ' noon.' },
    turn(0, 'One moment. It is'),
    { ...turn(1, 'of a member'), source: ['member'] },
    { ...audio, role: 'assistant', source: ['phone'] }
  ]
  t.match(await collectRun(parts), {
    text: 'One moment. It is',
    files: [
      { ...file, purpose: 'recording' },
      { ...file, purpose: 'speech', source: ['phone'] }
    ]
  })
  t.match(await collectRun([...parts, { type: 'text', text: 'Next' }]), { text: 'Next' })
  t.match(await collectRun([...parts, { type: 'text', text: 'Next' }, turn(1, '')]), { text: '' })
  const begun: Part = { type: 'step.start', index: 0, attempt: 1 }
  t.match(await collectRun([...parts, begun, { type: 'text', text: 'A' }, { type: 'text', text: 'b' }]), {
    text: 'Ab'
  })
})

t.test('calls with the same id are all kept, each with its own result', async (t) => {
  const call = (args: number): Part => ({ type: 'tool.call', toolCallId: '1', toolName: 't', args })
  const result = (value: number): Part => ({
    type: 'tool.result',
    toolCallId: '1',
    toolName: 't',
    result: value,
    durationMs: value
  })
  const { toolCalls } = await collectRun([call(1), result(2), call(3), result(4)])
  t.match(toolCalls, [
    { args: 1, result: 2 },
    { args: 3, result: 4 }
  ])
})

t.test('results without a call are ignored', async (t) => {
  const { toolCalls } = await collectRun([
    { type: 'tool.result', toolCallId: '1', toolName: 't', result: 1, durationMs: 1 },
    { type: 'tool.call', toolCallId: '1', toolName: 't', args: {}, source: ['m'] },
    { type: 'tool.error', toolCallId: '1', toolName: 't', error: { code: 'X', message: 'x' } },
    { type: 'tool.error', toolCallId: '1', toolName: 't', error: { code: 'X', message: 'x' }, source: ['n'] }
  ])
  t.strictSame(toolCalls, [{ toolCallId: '1', toolName: 't', args: {}, durationMs: 0, source: ['m'] }])
})

t.test('an undefined structured value is null', async (t) => {
  const { structured } = await collectRun([{ type: 'structured', value: undefined }])
  t.equal(structured, null)
})

t.test('the result does not depend on how the text is split', async (t) => {
  const increment = fc.record({
    type: fc.constant('text' as const),
    text: fc.string({ unit: 'binary' }),
    source: fc.constantFrom<string[]>([], ['m'])
  })
  const step = fc.record({ type: fc.constant('step.start' as const), index: fc.nat(), attempt: fc.nat() })
  const counted = fc.nat().map((n): Part => ({ type: 'step', index: 0, usage: usage(n) }))
  const script = fc.array(fc.oneof({ weight: 4, arbitrary: increment }, step, counted))
  await fc.assert(
    fc.asyncProperty(script, fc.infiniteStream(fc.nat({ max: 3 })), async (parts: Part[], sizes) => {
      const cut = parts.flatMap((part): Part[] => {
        if (part.type !== 'text') return [part]
        const pieces: Part[] = []
        for (let at = 0; at < part.text.length || pieces.length === 0;) {
          const size = sizes.next().value
          pieces.push({ ...part, text: part.text.slice(at, at + size) })
          at += size
        }
        return pieces
      })
      t.strictSame(await collectRun(cut), await collectRun(parts))
    })
  )
})

t.test('a preview is the beginning of the result', async (t) => {
  const previewOf = (...parts: Part[]) => {
    const builder = new RunResultBuilder()
    for (const part of parts) builder.add(part)
    return builder.preview
  }
  const text = (say: string, source?: string[]): Part => ({
    type: 'text',
    text: say,
    ...(source && { source })
  })
  t.equal(previewOf(), '')
  t.equal(previewOf(text('void'), { type: 'step.start', index: 1, attempt: 2 }, text('a'), text('b')), 'ab')
  t.equal(previewOf(text('not its own', ['member'])), '')
  t.equal(
    previewOf(text('x'.repeat(200)), text('y'.repeat(1e6)), text('z')),
    'x'.repeat(200) + 'y'.repeat(56)
  )
  t.equal(previewOf(text(`${'x'.repeat(255)}𝄞`)), 'x'.repeat(255), 'no half of a character')
  t.equal(previewOf({ type: 'structured', value: { a: [1, null] } }), '{"a":[1,null]}')
  t.equal(previewOf({ type: 'structured', value: { a: 1 } }, text('said')), 'said')
  const list = Array.from({ length: 1e5 }, (_, index) => ({ index }))
  t.equal(previewOf({ type: 'structured', value: list }), JSON.stringify(list).slice(0, 256))
})

const begin = (index: number, attempt: number, ...source: string[]): Part => ({
  type: 'step.start',
  index,
  attempt,
  ...(source.length > 0 && { source })
})
const call = (toolCallId: string, ...source: string[]): Part => ({
  type: 'tool.call',
  toolCallId,
  toolName: 't',
  args: {},
  ...(source.length > 0 && { source })
})
const finished = (...source: string[]): Part => ({
  type: 'finish',
  finishReason: 'stop',
  usage: usage(0),
  durationMs: 0,
  structured: null,
  source
})
const callsOf = async (...parts: Part[]) =>
  (await collectRun(parts)).toolCalls.map(({ toolCallId }) => toolCallId)

t.test('a void attempt leaves no tool calls', async (t) => {
  t.same(
    await callsOf(begin(0, 1), call('a'), begin(1, 1), call('b'), begin(1, 2), call('c')),
    ['a', 'c'],
    'only those since the step began'
  )
  t.same(
    await callsOf(begin(0, 1, 'm'), call('a', 'm'), call('b', 'n'), call('c', 'm', 'o'), begin(0, 2, 'm')),
    ['b'],
    'only those of the member, and of what runs within it'
  )
  t.same(
    await callsOf(begin(0, 1, 's'), call('a', 's'), begin(1, 1, 's'), call('b', 's'), begin(0, 2, 's')),
    [],
    'a workflow’s step is repeated as a whole'
  )
  t.same(
    await callsOf(begin(0, 1, 's'), call('a', 's'), finished('s'), begin(0, 2, 's'), call('b', 's')),
    ['a', 'b'],
    'an execution that finished before stays'
  )
  t.same(await callsOf(call('a', 's'), begin(0, 2), call('b')), ['a', 'b'], 'its steps are not its answer')
})

const file = (filename: string, ...source: string[]): Part => ({
  type: 'file',
  fileId: `id of ${filename}`,
  mimeType: 'text/csv',
  filename,
  ...(source.length > 0 && { source })
})

t.test('the files are those of attempts that count', async (t) => {
  const namesOf = async (...parts: Part[]) => (await collectRun(parts)).files?.map(({ filename }) => filename)
  t.same(
    await namesOf(begin(0, 1), file('a'), begin(1, 1), file('b'), begin(1, 2), file('c')),
    ['a', 'c'],
    'only those since the step began are void'
  )
  t.same(
    await namesOf(begin(0, 1, 's'), file('a', 's'), finished('s'), begin(0, 2, 's'), file('b', 's')),
    ['a', 'b'],
    'an execution that finished before stays'
  )
  t.same(await namesOf(begin(0, 1), file('a'), begin(0, 2)), undefined, 'without any the field is absent')
})

t.test('a file is described as in its part, without its place in the log', async (t) => {
  const part = { ...file('a', 'm'), size: 3, sha256: 'ff', purpose: 'chart', toolCallId: '1', seq: 7, at: 9 }
  t.strictSame((await collectRun([part as Part])).files, [
    {
      fileId: 'id of a',
      mimeType: 'text/csv',
      filename: 'a',
      source: ['m'],
      size: 3,
      sha256: 'ff',
      purpose: 'chart',
      toolCallId: '1'
    }
  ])
})

t.test('the result of a void call is ignored', async (t) => {
  const result: Part = { type: 'tool.result', toolCallId: 'a', toolName: 't', result: 1, durationMs: 1 }
  const { toolCalls } = await collectRun([begin(0, 1), call('a'), begin(0, 2), result])
  t.same(toolCalls, [])
})

t.test('a void attempt leaves no structured value, and its tokens count', async (t) => {
  const step: Part = { type: 'step', index: 1, usage: { ...usage(1), reasoningTokens: 1 } }
  const structured = (value: unknown): Part => ({ type: 'structured', value })
  const parts = [begin(0, 1), structured('a'), begin(1, 1), structured('b'), step, begin(1, 2)]
  const voided = await collectRun(parts)
  t.equal(voided.structured, 'a')
  t.same(voided.usage, { ...usage(1), reasoningTokens: 1 })
  t.equal((await collectRun([...parts, structured('c')])).structured, 'c')
})

t.test('parts that are no answer leave no trace in the result', async (t) => {
  const others: Part[] = [
    { type: 'reasoning', text: 'hm' },
    { type: 'tool.call.delta', toolCallId: 'a', toolName: 't', delta: '{' },
    { type: 'citation', url: 'https://pages.example' },
    { type: 'data', name: 'progress', value: 1 },
    { type: 'input.request', inputId: 'i', kind: 'question', expiresAt: '2026-01-01T00:00:00Z' },
    { type: 'input.response', inputId: 'i', action: 'accept', content: 'secret' }
  ]
  const text: Part = { type: 'text', text: 'a' }
  t.strictSame(await collectRun([text, ...others]), await collectRun([text]))
})
