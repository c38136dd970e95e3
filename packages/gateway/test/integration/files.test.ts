import { randomBytes } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { FileChunk, FileEvent } from '@svc/gateway'
import { createInProcessStores, defineRunnable, type FileStore, type RunFile } from '@svc/registry'
import t from 'tap'
import { buildGateway, Inbox, type Client, type GatewayRequest } from '../helpers/build-gateway.ts'
import { RawClient } from '../helpers/raw-client.ts'

const CHUNK = 262_144
const content = randomBytes(3 * CHUNK + 100)

const maker = defineRunnable({
  kind: 'agent',
  name: 'maker',
  async *stream(_input, { runId, stores }) {
    const file = { mimeType: 'image/png', filename: 'a.png', content }
    const { createdAt: _, ...kept } = await stores.files!.put(runId, file)
    yield { type: 'file', ...kept }
  }
})

/** Runs the maker; gives what the last event says of its file. */
async function make(client: Client, request: object = {}) {
  const inbox = new Inbox(client)
  const { runId } = (await client.emitWithAck('agent.run', { name: 'maker', input: 'x', ...request })) as {
    runId: string
  }
  const events = await inbox.untilEnd(runId)
  const { output } = events.at(-1) as unknown as { output: { files: RunFile[] } }
  return { runId, events, output, fileId: output.files[0]!.fileId! }
}

const read = (client: Client, event: FileEvent) => client.emitWithAck('run.file', event) as Promise<FileChunk>
const refusal = async (client: Client, event: unknown) =>
  (await client.emitWithAck('run.file', event as FileEvent)) as unknown as { code: string }

for (const transport of ['websocket', 'polling'])
  t.test(`a file is read in chunks, over ${transport}`, async (t) => {
    const { connect } = await buildGateway(t, { runnables: [maker] })
    const client = await connect({ transports: [transport] })
    const { runId, fileId, output } = await make(client)
    const chunks: Uint8Array[] = []
    for (let start = 0, size = 1; start < size;) {
      const { file, end, data, ...rest } = await read(client, { runId, fileId, start })
      t.strictSame(rest, { start })
      t.same(file, output.files[0])
      t.equal(data.byteLength, Math.min(CHUNK, file.size - start))
      chunks.push(new Uint8Array(data))
      start = end
      size = file.size
    }
    t.same(Buffer.concat(chunks), content)
  })

t.test('ranges', async (t) => {
  const { connect } = await buildGateway(t, { runnables: [maker] })
  const client = await connect()
  const { runId, fileId } = await make(client)
  const { length } = content
  const cases: [range: { start?: number; end?: number }, start: number, end: number][] = [
    [{ start: 5, end: 9 }, 5, 9],
    [{ end: 3 }, 0, 3],
    [{ start: 4, end: 4 }, 4, 4],
    [{ start: length }, length, length],
    [{ start: length - 2, end: length + 10 }, length - 2, length],
    [{ end: length }, 0, CHUNK]
  ]
  for (const [range, start, end] of cases) {
    const chunk = await read(client, { runId, fileId, ...range })
    t.match(chunk, { start, end }, JSON.stringify(range))
    t.same(Buffer.from(chunk.data as ArrayBuffer), content.subarray(start, end))
  }
  t.match(await refusal(client, { runId, fileId, start: length + 1 }), { code: 'RUN_ERR_BAD_RANGE' })
  for (const bad of [
    { start: 5, end: 4 },
    { start: -1 },
    { start: 1.5 },
    { end: '9' },
    { more: 1 },
    { fileId: '' }
  ])
    t.match(
      await refusal(client, { runId, fileId, ...bad }),
      { code: 'GTW_ERR_BAD_PAYLOAD' },
      JSON.stringify(bad)
    )
})

t.test('an event names the file: the last one, and its part for clients that ask for parts', async (t) => {
  const { connect } = await buildGateway(t, { runnables: [maker] })
  const client = await connect()
  const { events, output, fileId } = await make(client, { parts: true })
  const part = { type: 'file', fileId, mimeType: 'image/png', filename: 'a.png', size: content.length }
  t.match(
    events.filter((each) => (each['part'] as { type?: string } | undefined)?.type === 'file'),
    [{ event: 'agent.part', part }]
  )
  t.match(output.files, [{ fileId, filename: 'a.png' }])
})

t.test('files of others look like ones that do not exist', async (t) => {
  const { connect, runs } = await buildGateway(t, {
    runnables: [maker],
    options: { authenticate: ({ token }) => (token === undefined ? null : { sub: token, scopes: [] }) }
  })
  const [ann, bob] = await Promise.all(['ann', 'bob'].map((token) => connect({ auth: { token } })))
  const { runId, fileId } = await make(ann!)
  t.match(await read(ann!, { runId, fileId, end: 1 }), { end: 1 })
  const foreign = await refusal(bob!, { runId, fileId })
  t.match(foreign, { code: 'RUN_ERR_NOT_FOUND' })
  const unknown = JSON.stringify(await refusal(bob!, { runId: 'none', fileId }))
  t.equal(JSON.stringify(foreign).replace(runId, 'none'), unknown)
  t.match(await refusal(ann!, { runId, fileId: 'none' }), { code: 'RUN_ERR_FILE_NOT_FOUND' })
  await runs.stores.files!.remove([runId])
  t.match(await refusal(ann!, { runId, fileId }), { code: 'RUN_ERR_FILE_NOT_FOUND' })
})

/** Serves a run of which only the store knows the file. */
async function serveStore(
  t: Parameters<typeof buildGateway>[0],
  files: FileStore | undefined,
  more: GatewayRequest = {}
) {
  const { files: _, ...stores } = createInProcessStores()
  const idle = defineRunnable({ kind: 'agent', name: 'idle', run: () => 'done' })
  const served = await buildGateway(t, {
    runnables: [idle],
    engine: { stores: { ...stores, ...(files && { files }) } },
    ...more
  })
  const run = await served.runs.start(idle, 'x')
  await run.result()
  return { ...served, runId: run.runId }
}

function storeOf(size: number, content: () => AsyncIterable<Uint8Array>): FileStore {
  const file = { fileId: 'f', mimeType: 'text/csv', size, sha256: 'ab', createdAt: 0 }
  return { put: () => file, get: () => ({ file, content: content() }), remove() {} }
}

t.test('a service without a file store, and stores that fail', async (t) => {
  const broken: Record<string, FileStore | undefined> = {
    RUN_ERR_FILES_NOT_KEPT: undefined,
    // oxlint-disable-next-line require-yield -- it fails first
    RUN_ERR_STORE: storeOf(3, async function* () {
      throw new Error('secret of the store')
    }),
    RUN_ERR_DAMAGED: storeOf(3, async function* () {})
  }
  for (const [code, files] of Object.entries(broken)) {
    const { connect, runId } = await serveStore(t, files)
    const said = await refusal(await connect(), { runId, fileId: 'f' })
    t.match(said, { code })
    t.notMatch(JSON.stringify(said), /secret/)
  }
})

t.test('a client that does not read holds back the store, and too many reads are refused', async (t) => {
  let reads = 0
  const size = 1_000 * CHUNK
  const files = storeOf(size, async function* () {
    reads++
    yield Buffer.alloc(CHUNK)
  })
  const { app, origin, connect, runId } = await serveStore(t, files, {
    options: { limits: { eventsPerSecond: 10_000 } }
  })
  const slow = await RawClient.connect(origin)
  const [socket] = await app.io.fetchSockets()
  slow.ws.pause()
  const event = JSON.stringify(['run.file', { runId, fileId: 'f' }])
  const send = () => slow.send(`421${event}`)
  const isHeld = () => {
    const { conn } = app.io.sockets.sockets.get(socket!.id)!
    const { writeBuffer } = conn as unknown as { writeBuffer: readonly unknown[] }
    return writeBuffer.length > 0
  }
  for (; !isHeld(); await turns(500)) send()
  const before = reads
  for (let i = 0; i < 10; i++) send()
  await turns(5_000)
  t.equal(reads, before, 'what cannot be sent is not read')

  const client = await connect()
  const many = Array.from({ length: 40 }, () => refusal(client, { runId, fileId: 'f' }))
  const refused = (await Promise.all(many)).filter(({ code }) => code === 'GTW_ERR_TOO_MANY_READS')
  t.ok(refused.length > 0 && refused.length <= 24, `${refused.length} of 40 at once are refused`)
  t.match(await read(client, { runId, fileId: 'f' }), { end: CHUNK }, 'the connection lives')
  slow.end()
})

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await setImmediate()
}
