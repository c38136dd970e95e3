import { remoteAgent } from '@svc/a2a'
import { createContext, createInProcessStores, createRunEngine, type RunFile } from '@svc/registry'
import { createHash } from 'node:crypto'
import t, { type Test } from 'tap'
import type { MessagePart } from '../../src/model/message.ts'
import type { TaskEvent, TaskStatus } from '../../src/model/task.ts'
import { DIALECTS, serveFake, type Dialect, type Reply } from '../helpers/fake-service.ts'

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 0xff])
const raw = (bytes: Uint8Array, about: object = {}): MessagePart => ({
  raw: Buffer.from(bytes).toString('base64'),
  ...about
})
const png = raw(PNG, { mediaType: 'image/png', filename: 'chart.png' })
const ids = { taskId: 't', contextId: 'c' }
const task = (
  state: TaskStatus['state'],
  artifacts: MessagePart[][] = [],
  said?: MessagePart[]
): TaskEvent => ({
  type: 'task',
  task: {
    id: 't',
    contextId: 'c',
    status: { state, ...(said && { message: { messageId: 'm', role: 'agent', parts: said } }) },
    artifacts: artifacts.map((parts, index) => ({ artifactId: `a${index}`, parts }))
  }
})
const status = (state: TaskStatus['state'], parts?: MessagePart[]): TaskEvent => ({
  ...ids,
  type: 'status',
  status: { state, ...(parts && { message: { messageId: 'm', role: 'agent', parts } }) }
})
const chunk = (artifactId: string, parts: MessagePart[], append: boolean): TaskEvent => ({
  ...ids,
  type: 'artifact',
  artifact: { artifactId, parts },
  append,
  lastChunk: false
})

/** Runs an agent of a service with these answers; the result, its log and the bytes of its files. */
async function collect(t: Test, dialect: Dialect, replies: readonly Reply[], more: object = {}) {
  const left = [...replies]
  const { options } = await serveFake(t, dialect, () => left.shift()!)
  const stores = createInProcessStores()
  const engine = createRunEngine({ stores })
  t.teardown(() => engine.close())
  const run = await engine.start(remoteAgent({ ...options, name: 'far', ...more }), 'x')
  const { text, files = [] } = await run.result()
  const log: unknown[] = []
  for await (const part of run.parts()) log.push(part)
  const bytesOf = async ({ fileId }: RunFile) => {
    const found = await stores.files!.get(run.runId, fileId!)
    const chunks: Uint8Array[] = []
    for await (const each of found!.content) chunks.push(each)
    return Buffer.concat(chunks)
  }
  return { text, files, log: JSON.stringify(log), bytes: await Promise.all(files.map(bytesOf)) }
}

for (const dialect of DIALECTS) {
  t.test(`${dialect.name}: the bytes of artifacts are files of the run`, async (t) => {
    const other = raw(Buffer.from('a,b'), { mediaType: 'text/csv' })
    const { text, files, log, bytes } = await collect(t, dialect, [
      [
        task('working'),
        chunk('a0', [{ text: 'See ' }, png], false),
        chunk('a0', [{ text: 'it.' }, other], true)
      ],
      [task('completed', [[{ text: 'See it.' }, png, other]])]
    ])
    t.equal(text, 'See it.')
    t.match(files, [
      { fileId: String, mimeType: 'image/png', filename: 'chart.png', size: PNG.length },
      { fileId: String, mimeType: 'text/csv', size: 3 }
    ])
    t.equal(files.length, 2, 'a task that is read again has the same files')
    t.equal(files[0]!.sha256, createHash('sha256').update(PNG).digest('hex'))
    t.same(bytes, [PNG, Buffer.from('a,b')])
    t.notOk(log.includes((png as { raw: string }).raw), 'the log has no bytes')
  })

  t.test(`${dialect.name}: so are those of messages and of states`, async (t) => {
    const message: TaskEvent = {
      type: 'message',
      message: { messageId: 'm', role: 'agent', parts: [{ text: 'Here.' }, png] }
    }
    const replies: [Reply, text: string][] = [
      [[message], 'Here.'],
      [[task('completed', [], [{ text: 'Here.' }, png])], 'Here.'],
      [
        [
          task('working'),
          status('working', [{ text: 'Half.' }, png]),
          status('completed', [{ text: 'Done.' }])
        ],
        'Done.'
      ],
      [[task('input-required', [], [{ text: 'This one?' }, png])], 'This one?']
    ]
    for (const [reply, said] of replies) {
      const { text, files, bytes } = await collect(t, dialect, [reply])
      t.equal(text, said)
      t.match(files, [{ mimeType: 'image/png', filename: 'chart.png' }])
      t.same(bytes, [PNG])
    }
  })

  t.test(`${dialect.name}: files by a URL stay where they are`, async (t) => {
    const there = { url: 'https://example.org/a.png', mediaType: 'image/png', filename: 'a.png' }
    const { files } = await collect(t, dialect, [[task('completed', [[there, there]])]]).catch(() => ({
      files: []
    }))
    t.same(files, [])
    const run = remoteAgent({
      ...(await serveFake(t, dialect, () => [task('completed', [[there]])])).options
    })
    t.match((await run.run('x', createContext())).files, [
      { url: there.url, mimeType: 'image/png', filename: 'a.png' }
    ])
  })
}

t.test('bytes are bounded, and have to be base64', async (t) => {
  const large = raw(Buffer.alloc(40_000), { mediaType: 'a/b' })
  for (const dialect of DIALECTS) {
    await t.rejects(collect(t, dialect, [[task('completed', [[large]])]], { maxBytes: 30_000 }), {
      code: 'A2A_ERR_BAD_ANSWER',
      message: /too large/
    })
    await t.rejects(collect(t, dialect, [[task('completed', [[{ raw: '!' }]])]]), {
      code: 'A2A_ERR_BAD_ANSWER'
    })
  }
})

t.test('a run without a store of files, and types and names that are none', async (t) => {
  const { options } = await serveFake(t, DIALECTS[0]!, () => [
    task('completed', [[raw(PNG, { mediaType: 'x'.repeat(256), filename: '' })]])
  ])
  const agent = remoteAgent({ ...options, name: 'far' })
  const { files: _, ...stores } = createInProcessStores()
  const engine = createRunEngine({ stores })
  t.teardown(() => engine.close())
  for (const result of [
    await (await engine.start(agent, 'x')).result(),
    await agent.run('x', createContext()),
    await agent.run('x')
  ]) {
    t.match(result.files, [{ mimeType: 'application/octet-stream', size: PNG.length }])
    t.notOk('filename' in result.files![0]!)
  }
})
