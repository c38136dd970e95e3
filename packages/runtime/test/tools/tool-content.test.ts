import { createHash } from 'node:crypto'
import { Type } from '@sinclair/typebox'
import { createInProcessStores } from '@svc/registry'
import { defineTool, toolContent } from '@svc/runtime'
import t from 'tap'
import { collect, makeAgent, makeContext } from '../helpers/make-agent.ts'

const PNG = Buffer.from('a png, nearly')
const data = PNG.toString('base64')
const sha256 = createHash('sha256').update(PNG).digest('hex')
const chart = defineTool({
  name: 'chart',
  description: 'Draws a chart',
  input: Type.Object({}),
  execute: () =>
    toolContent([
      { type: 'text', text: 'The chart:' },
      { type: 'image', mimeType: 'image/png', filename: 'chart.png', data },
      { type: 'file', mimeType: 'text/csv', data: Buffer.from('a;b').toString('base64') }
    ])
})
const calls = [{ toolCalls: [{ toolName: 'chart' }] }, 'Done.']

t.test('the files of a tool are kept, and refer to its call', async (t) => {
  const { agent, model } = makeAgent(calls, { tools: [chart] })
  const { context } = makeContext()
  const run = await collect(agent.stream('Draw', context))
  const files = run.ofType('file')
  t.match(files, [
    { toolCallId: 'call-1', mimeType: 'image/png', filename: 'chart.png', size: PNG.length, sha256 },
    { toolCallId: 'call-1', mimeType: 'text/csv', size: 3, filename: undefined }
  ])
  const { content } = (await context.stores.files!.get(context.runId, files[0]!.fileId!))!
  t.ok(Buffer.concat(await Array.fromAsync(content)).equals(PNG))
  t.strictSame(run.types.slice(1, 5), ['tool.call', 'step', 'file', 'file'])
  t.match(run.ofType('tool.result'), [
    { result: { content: [{ text: 'The chart:' }, { type: 'image', filename: 'chart.png', sha256 }, {}] } }
  ])
  t.notMatch(JSON.stringify(run.parts), data)
  t.match(JSON.stringify(model.calls[1]?.prompt), data, 'the model sees the image')
})

t.test('a file that does not fit does not fail the call', async (t) => {
  const stores = createInProcessStores({ fileMaxBytes: 5 })
  const run = await collect(
    makeAgent(calls, { tools: [chart] }).agent.stream('Draw', makeContext({ stores }).context)
  )
  t.match(run.ofType('file'), [
    { size: PNG.length, sha256, fileId: undefined },
    { size: 3, fileId: String }
  ])
  t.equal(run.ofType('tool.error').length, 0)
})

t.test('the files of a nested call refer to it', async (t) => {
  const outer = defineTool({
    name: 'outer',
    description: 'Calls another tool',
    input: Type.Object({}),
    execute: async (_args, { callTool }) => {
      await callTool(chart, {})
      return 'drawn'
    }
  })
  const script = [{ toolCalls: [{ toolName: 'outer' }] }, 'Done.']
  const run = await collect(makeAgent(script, { tools: [outer] }).agent.stream('Draw'))
  t.match(
    run.ofType('file').map(({ toolCallId }) => toolCallId),
    ['call-1.1', 'call-1.1']
  )
  t.ok(run.types.indexOf('file') < run.types.indexOf('tool.result'))
})

t.test(
  'a file’s name and a text have no half of a surrogate pair, in the log and for the model',
  async (t) => {
    const odd = defineTool({
      name: 'chart',
      description: 'Draws',
      input: Type.Object({}),
      execute: () =>
        toolContent([
          { type: 'text', text: 'a\ud83d' },
          { type: 'image', mimeType: 'image/png', filename: 'b\ud83d.png', data }
        ])
    })
    const { agent, model } = makeAgent(calls, { tools: [odd] })
    const run = await collect(agent.stream('Draw', makeContext().context))
    t.match(run.ofType('file'), [{ filename: 'b\ufffd.png' }])
    t.match(run.ofType('tool.result'), [
      { result: { content: [{ text: 'a\ufffd' }, { filename: 'b\ufffd.png' }] } }
    ])
    t.notMatch(JSON.stringify([run.parts, model.calls]), /\\ud83d/)
  }
)
