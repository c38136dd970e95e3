import { createHash } from 'node:crypto'
import type { LanguageModelV4Source, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { Type } from '@sinclair/typebox'
import { createInProcessStores, type FileStore } from '@svc/registry'
import { defineTool, type ProviderTool } from '@svc/runtime'
import t from 'tap'
import { collect, makeAgent, makeContext } from '../helpers/make-agent.ts'

const PNG = Buffer.from('89504e470d0a1a0a'.repeat(8), 'hex')
const sha256 = createHash('sha256').update(PNG).digest('hex')
const kept = { mimeType: 'image/png', size: PNG.length, sha256 }
const finish: LanguageModelV4StreamPart = {
  type: 'finish',
  finishReason: { unified: 'stop', raw: undefined },
  usage: {
    inputTokens: { total: 1, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: 1, text: undefined, reasoning: undefined }
  }
}
const image = (data: string | Uint8Array, type: 'file' | 'reasoning-file' = 'file') =>
  ({ type, mediaType: 'image/png', data: { type: 'data', data } }) as const
const page = (id: string, more: object = {}): LanguageModelV4Source => ({
  type: 'source',
  sourceType: 'url',
  id,
  url: `https://example.org/${id}`,
  title: `Page ${id}`,
  ...more
})
const paper = (id: string, title: string, more: object = {}): LanguageModelV4Source => ({
  type: 'source',
  sourceType: 'document',
  id,
  mediaType: 'application/pdf',
  title,
  ...more
})
const text = (
  citations?: { source: LanguageModelV4Source; citedText?: string }[]
): LanguageModelV4StreamPart[] => [
  { type: 'text-start', id: 't' },
  { type: 'text-delta', id: 't', delta: 'Bees dance.' },
  { type: 'text-end', id: 't', ...(citations && { citations }) }
]

async function readAll(files: FileStore, runId: string, fileId: string): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of (await files.get(runId, fileId))!.content) chunks.push(chunk)
  return Buffer.concat(chunks)
}

t.test('files of a model are kept, and go back to it as it gave them', async (t) => {
  const look = defineTool({ name: 'look', description: 'L', input: Type.Object({}), execute: () => 'seen' })
  const url = new URL('https://example.org/a.png')
  const parts: LanguageModelV4StreamPart[] = [
    image(PNG.toString('base64')),
    image(new Uint8Array(PNG), 'reasoning-file'),
    { type: 'file', mediaType: 'image/png', data: { type: 'url', url } },
    { type: 'tool-call', toolCallId: 'c', toolName: 'look', input: '{}' },
    finish
  ]
  const { agent, model } = makeAgent([{ parts }, 'Done.'], { tools: [look] })
  const { context } = makeContext()
  const run = await collect(agent.stream('Draw', context))
  const files = run.ofType('file')
  t.match(files, [
    { ...kept, fileId: String },
    { ...kept, fileId: String, purpose: 'reasoning' },
    { url: url.href, mimeType: 'image/png', fileId: undefined }
  ])
  for (const { fileId } of files.slice(0, 2))
    t.ok((await readAll(context.stores.files!, context.runId, fileId!)).equals(PNG))
  t.notMatch(JSON.stringify(run.parts), PNG.toString('base64'))
  t.strictSame(run.types.slice(0, 5), ['step.start', 'file', 'file', 'file', 'tool.call'])
  const data = { type: 'data', data: PNG.toString('base64') }
  t.match(model.calls[1]?.prompt[1], {
    role: 'assistant',
    content: [
      { type: 'file', mediaType: 'image/png', data },
      { type: 'reasoning-file', data },
      { type: 'file', data: { type: 'url', url } },
      { type: 'tool-call' }
    ]
  })
})

t.test('a data: URL of a model is a file with bytes', async (t) => {
  const text = 'a,b?c=%25'
  const urls = [
    `data:image/png;base64,${PNG.toString('base64')}`,
    `data:image/png;base64,${encodeURIComponent(PNG.toString('base64'))}`,
    `data:text/plain,${encodeURIComponent(text)}`,
    'data:text/plain,a?b',
    'data:,',
    'data:broken'
  ]
  const parts = urls.map(
    (url) => ({ type: 'file', mediaType: 'a/b', data: { type: 'url', url: new URL(url) } }) as const
  )
  const { context } = makeContext()
  const run = await collect(makeAgent({ parts: [...parts, finish] }).agent.stream('Draw', context))
  const contents = await Promise.all(
    run.ofType('file').map(({ fileId }) => readAll(context.stores.files!, context.runId, fileId!))
  )
  t.strictSame(contents.map(String), [String(PNG), String(PNG), text, 'a?b', '', ''])
  t.notMatch(JSON.stringify(run.parts), 'data:')
})

t.test('later turns have a reference to a file that the model made', async (t) => {
  const { agent, model } = makeAgent([{ parts: [image(PNG), finish] }, 'Thanks.'])
  const { context } = makeContext()
  await agent.run('Draw', context)
  const { sessionId, stores } = context
  await agent.run('Nice', makeContext({ sessionId, stores }).context)
  t.match(model.calls[1]?.prompt, [
    { role: 'user' },
    { role: 'assistant', content: [{ type: 'text', text: '[image, image/png, 64 bytes, made earlier]' }] },
    { role: 'user' }
  ])
})

t.test('a file that no store takes has its size and hash, and the run continues', async (t) => {
  const parts = [image(PNG), finish]
  const { files: _, ...without } = createInProcessStores()
  const full = createInProcessStores({ fileMaxBytes: 10 })
  const failing = {
    ...createInProcessStores(),
    files: { ...full.files!, put: () => Promise.reject(new Error('down')) }
  }
  for (const [name, stores, warnings] of [
    ['none', without, []],
    ['too small', full, [/does not fit/]],
    ['failing', failing, [/down/]]
  ] as const) {
    const { context, logged } = makeContext({ stores })
    const run = await collect(makeAgent({ parts }).agent.stream('Draw', context))
    t.equal(run.error, undefined, name)
    t.match(run.ofType('file'), [{ ...kept, fileId: undefined }], name)
    const errors = logged.filter(({ level }) => level === 'warn').map(({ details }) => details['err'])
    t.match(
      errors,
      warnings.map((message) => ({ stack: message })),
      name
    )
    t.equal(errors.length, warnings.length)
  }
})

t.test('sources are citations: with the quotes at the end of their text, and each once', async (t) => {
  const parts: LanguageModelV4StreamPart[] = [
    page('a'),
    page('b'),
    page('b', { id: 'b2' }),
    paper('made-up', 'Dances'),
    ...text([
      { source: page('a', { title: undefined }), citedText: 'They dance.' },
      { source: page('a', { title: undefined }), citedText: 'They dance.' },
      { source: page('a'), citedText: 'In the hive.' },
      { source: paper('file-1', 'Dances') }
    ]),
    page('b'),
    paper('x', 'Songs', { providerMetadata: { openai: { fileId: 'file-2' } } }),
    paper('y', 'Hums', { providerMetadata: { anthropic: { citedText: 'Hum.' } } }),
    finish
  ]
  const run = await collect(makeAgent({ parts }).agent.stream('Bees?'))
  const url = (name: string) => `https://example.org/${name}`
  t.strictSame(
    run.ofType('citation').map(({ type: _, ...citation }) => citation),
    [
      { url: url('a'), quote: 'They dance.' },
      { url: url('a'), title: 'Page a', quote: 'In the hive.' },
      { documentId: 'file-1', title: 'Dances' },
      { url: url('b'), title: 'Page b' },
      { documentId: 'file-2', title: 'Songs' },
      { documentId: 'y', title: 'Hums', quote: 'Hum.' }
    ]
  )
  t.strictSame(run.types.slice(-4), ['citation', 'citation', 'step', 'finish'])
})

const draw: ProviderTool = { type: 'provider', id: 'openai.image_generation', args: {} }
const drawing = (result: string): LanguageModelV4StreamPart[] => [
  { type: 'tool-call', toolCallId: 'ig', toolName: 'image_generation', input: '{}', providerExecuted: true },
  {
    type: 'tool-result',
    toolCallId: 'ig',
    toolName: 'image_generation',
    result: { result: 'iVBORw' },
    preliminary: true
  },
  { type: 'tool-result', toolCallId: 'ig', toolName: 'image_generation', result: { result } }
]

t.test('an image that the provider generates is a file; the log and the session refer to it', async (t) => {
  const data = PNG.toString('base64')
  const parts = [...drawing(data), finish]
  const { agent, model } = makeAgent([{ parts }, 'Yes.'], { tools: [draw] })
  const { context } = makeContext()
  const events: unknown[] = []
  context.events.on('tool.result', ({ result }) => events.push(result))
  const run = await collect(agent.stream('Draw', context))
  const result = { result: { type: 'image', mimeType: 'image/png', sha256, size: PNG.length } }
  t.match(run.ofType('tool.result'), [{ toolCallId: 'ig', providerExecuted: true, result }])
  t.match(run.ofType('file'), [{ ...kept, fileId: String, toolCallId: 'ig' }])
  t.strictSame(events, [result])
  const { sessionId, stores } = context
  await agent.run('Is it good?', makeContext({ sessionId, stores }).context)
  const told = JSON.stringify([run.parts, model.calls[1]?.prompt])
  t.notMatch(told, data)
  t.match(told, sha256)
  for (const other of [data.slice(0, 60), `${data} and more`, 'x'.repeat(100)]) {
    const { ofType } = await collect(
      makeAgent({ parts: [...drawing(other), finish] }, { tools: [draw] }).agent.stream('Draw')
    )
    t.match(ofType('tool.result'), [{ result: { result: other } }], 'other results stay')
    t.same(ofType('file'), [])
  }
})

t.test('a provider’s request for an approval of its own tool fails the call', async (t) => {
  const parts: LanguageModelV4StreamPart[] = [
    { type: 'tool-call', toolCallId: 'm', toolName: 'mcp', input: '{}', providerExecuted: true },
    { type: 'tool-approval-request', approvalId: 'a', toolCallId: 'm' },
    { type: 'tool-approval-request', approvalId: 'b', toolCallId: 'unknown' },
    finish
  ]
  const run = await collect(makeAgent({ parts }, { tools: [draw] }).agent.stream('Search'))
  t.match(run.ofType('tool.error'), [
    { toolCallId: 'm', providerExecuted: true, error: { code: 'RUN_ERR_TOOL_FAILED', message: /^Approvals/ } }
  ])
})

t.test('warnings of a provider are logged', async (t) => {
  const warnings = [{ type: 'unsupported', feature: 'temperature' } as const]
  const { context, logged } = makeContext()
  await makeAgent({ parts: [{ type: 'stream-start', warnings }, finish] }).agent.run('Hi', context)
  t.match(logged, [{ level: 'debug', details: { step: 0, warnings } }])
})
