import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { errors, createInProcessStores, type NewFile, type RunResult } from '@svc/registry'
import * as fc from 'fast-check'
import { launchChromium, needsChromium } from '@tools/wires/chromium'
import { cases } from '@tools/wires/volume'
import t, { type Test } from 'tap'
import { buildApp, type AppRequest } from '../helpers/build-app.ts'
import { filesOf, makerOf, type ReadFiles } from '../helpers/file-maker.ts'
import { requireError } from '../helpers/require-error.ts'

const content = Buffer.from(Array.from({ length: 100 }, (_, index) => index))
const sample: NewFile = { mimeType: 'image/png', filename: 'chart.png', content }

/** An app, and the path of a file that a run in it has kept. */
async function serveFile(t: Test, file: NewFile = sample, request: AppRequest = {}) {
  const app = await buildApp(t, { runnables: [makerOf(file)], ...request })
  const { runId, files = [] } = (await (
    await app.post('/agents/maker/run', { input: 'x' })
  ).json()) as RunResult
  return { ...app, runId, file: files[0]!, path: `/runs/${runId}/files/${files[0]?.fileId}` }
}

t.test('a file whose id the result has, with headers that keep it passive', async (t) => {
  const { get, path, file } = await serveFile(t)
  const sha256 = createHash('sha256').update(content).digest('hex')
  t.match(file, { fileId: String, mimeType: 'image/png', filename: 'chart.png', size: 100, sha256 })
  const response = await get(path)
  t.equal(response.status, 200)
  t.same(Buffer.from(await response.arrayBuffer()), content)
  t.match(Object.fromEntries(response.headers), {
    'content-type': 'image/png',
    'content-length': '100',
    'content-disposition': 'inline; filename=chart.png',
    'content-security-policy': "sandbox; default-src 'none'; style-src 'unsafe-inline'",
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
    'accept-ranges': 'bytes',
    'cache-control': 'private, no-cache, no-transform',
    etag: `"${sha256}"`
  })
})

t.test('HEAD has the headers of the whole file, and reads nothing', async (t) => {
  const files = filesOf(5, async function* () {
    yield Buffer.from('a,b,c')
  })
  const { url, path } = await serveFile(t, sample, {
    engine: { stores: { ...createInProcessStores(), files } }
  })
  const head = await fetch(url + path, { method: 'HEAD', headers: { range: 'bytes=0-1' } })
  t.match(head, { status: 200 })
  t.equal(head.headers.get('content-length'), '5')
  t.equal(head.headers.get('content-range'), null)
  t.equal(files.bytes, 0)
  const same = await fetch(url + path, { method: 'HEAD', headers: { 'if-none-match': '"ab"' } })
  t.equal(same.status, 304)
})

t.test('a client that has the file gets 304', async (t) => {
  const { get, path, file } = await serveFile(t)
  const etag = `"${file.sha256}"`
  for (const given of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
    const response = await get(path, { 'if-none-match': given, range: 'bytes=900-' })
    t.equal(response.status, 304, given)
    t.equal(response.headers.get('etag'), etag)
    t.equal(await response.text(), '')
  }
  t.equal((await get(path, { 'if-none-match': '"other"' })).status, 200)
})

t.test('a range, and `if-range`', async (t) => {
  const { get, path, file } = await serveFile(t)
  const etag = `"${file.sha256}"`
  for (const condition of [undefined, etag]) {
    const part = await get(path, { range: 'bytes=10-19', ...(condition && { 'if-range': condition }) })
    t.equal(part.status, 206)
    t.equal(part.headers.get('content-range'), 'bytes 10-19/100')
    t.equal(part.headers.get('content-length'), '10')
    t.same(Buffer.from(await part.arrayBuffer()), content.subarray(10, 20))
  }
  for (const condition of ['"other"', `W/${etag}`, 'Mon, 23 Nov 2026 00:00:00 GMT'])
    t.equal((await get(path, { range: 'bytes=10-19', 'if-range': condition })).status, 200, condition)
  for (const several of ['bytes=0-1,5-6', 'bytes=5-1', 'pages=1-2'])
    t.equal((await get(path, { range: several })).headers.get('content-length'), '100', several)
  const none = await get(path, { range: 'bytes=100-' })
  await requireError(t, none, 416, 'RUN_ERR_BAD_RANGE')
  t.equal(none.headers.get('content-range'), 'bytes */100')
  t.equal(none.headers.get('content-disposition'), null)
})

t.test('any range has the bytes of the file', async (t) => {
  const { app, path } = await serveFile(t)
  const position = fc.option(fc.nat({ max: 120 }), { nil: undefined })
  await fc.assert(
    fc.asyncProperty(position, position, async (first, last) => {
      const range = `bytes=${first ?? ''}-${last ?? ''}`
      const { statusCode, rawPayload, headers } = await app.inject({ url: `/api${path}`, headers: { range } })
      if (statusCode === 416) return t.equal(headers['content-range'], 'bytes */100')
      const [, start = '0', end = '99'] =
        /^bytes (\d+)-(\d+)\/100$/.exec(String(headers['content-range'])) ?? []
      if (first !== undefined && statusCode === 206) t.equal(Number(start), first)
      if (first === undefined && statusCode === 206)
        t.equal(Number(end) - Number(start) + 1, Math.min(last!, 100))
      t.same(rawPayload, content.subarray(Number(start), Number(end) + 1), range)
      return t.equal(Number(headers['content-length']), rawPayload.length)
    }),
    { numRuns: cases(200) }
  )
})

t.test('an empty file', async (t) => {
  const { get, path } = await serveFile(t, { mimeType: 'text/csv', content: Buffer.alloc(0) })
  const response = await get(path)
  t.equal(response.status, 200)
  t.equal(await response.text(), '')
  await requireError(t, await get(path, { range: 'bytes=0-' }), 416, 'RUN_ERR_BAD_RANGE')
  t.equal((await get(path, { range: 'bytes=-1' })).status, 200)
})

t.test('hostile names and types', async (t) => {
  const hostile = {
    mimeType: 'text/html\r\nset-cookie: a=b',
    filename: '"\r\nset-cookie: a=b\r\n\r\n<script>'
  }
  const { get, path } = await serveFile(t, { ...hostile, content: Buffer.from('<script>') })
  const { status, headers } = await get(path)
  t.equal(status, 200)
  t.equal(headers.get('content-type'), 'application/octet-stream')
  t.equal(headers.get('set-cookie'), null)
  t.match(headers.get('content-disposition'), /^attachment; filename="/)
})

t.test('files that do not exist, and services that keep none', async (t) => {
  const { get, path, runId, runs } = await serveFile(t)
  await requireError(t, await get(`/runs/${runId}/files/other`), 404, 'RUN_ERR_FILE_NOT_FOUND')
  await requireError(t, await get('/runs/other/files/f'), 404, 'RUN_ERR_NOT_FOUND')
  await runs.stores.files!.remove([runId])
  await requireError(t, await get(path), 404, 'RUN_ERR_FILE_NOT_FOUND', 'removed')

  const { files: _, ...stores } = createInProcessStores()
  const without = await buildApp(t, { runnables: [makerOf(sample)], engine: { stores } })
  const failed = await without.post('/agents/maker/run', { input: 'x' })
  const none = await without.get(`/runs/${failed.headers.get('x-run-id')}/files/f`)
  await requireError(t, none, 404, 'RUN_ERR_FILES_NOT_KEPT')
})

const withFiles = (t: Test, files: ReadFiles) =>
  serveFile(t, sample, { engine: { stores: { ...createInProcessStores(), files } } })

t.test('a store that fails before the first byte', async (t) => {
  const { get, path } = await withFiles(
    t,
    // oxlint-disable-next-line require-yield -- it fails first
    filesOf(5, async function* () {
      throw new Error('secret of the store')
    })
  )
  const { message } = await requireError(t, await get(path), 503, 'RUN_ERR_STORE')
  t.notMatch(message, /secret/)
})

t.test('a file that is removed before the first byte', async (t) => {
  const { get, path, runId } = await withFiles(
    t,
    // oxlint-disable-next-line require-yield -- it fails first
    filesOf(5, async function* () {
      throw new errors.RUN_ERR_NOT_FOUND(runId)
    })
  )
  await requireError(t, await get(path), 404, 'RUN_ERR_NOT_FOUND')
})

t.test('a file that is gone before the first byte', async (t) => {
  const { get, path } = await withFiles(
    t,
    filesOf(5, async function* () {})
  )
  await requireError(t, await get(path), 500, 'RUN_ERR_DAMAGED')
})

const BROKEN: Record<string, () => AsyncIterable<Uint8Array>> = {
  async *'fails after a while'() {
    yield Buffer.alloc(100_000)
    throw new Error('secret of the store')
  },
  async *'ends early'() {
    yield Buffer.alloc(100_000)
  },
  async *'has more than its size'() {
    for (let i = 0; i < 10; i++) yield Buffer.alloc(100_000)
  }
}

for (const [says, read] of Object.entries(BROKEN))
  t.test(`a file that ${says} closes the connection`, async (t) => {
    const files = filesOf(200_001, read)
    const { url, path } = await withFiles(t, files)
    const response = await fetch(url + path)
    t.equal(response.headers.get('content-length'), '200001')
    await t.rejects(response.arrayBuffer())
    await files.over
    t.equal(files.open, 0)
  })

t.test('a client that does not read holds back the store; once it leaves, the reading ends', async (t) => {
  const size = 500 * 1_048_576
  const files = filesOf(size, async function* () {
    for (let left = size; left > 0; left -= 65_536) yield Buffer.alloc(65_536)
  })
  const { origin, path } = await withFiles(t, files)
  const { hostname: host, port } = new URL(origin)
  const client = connect({ host, port: Number(port) })
  client.write(`GET /api${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`)
  await once(client, 'readable')
  client.pause()
  for (let before = -1; files.bytes > before; await turns(1_000)) before = files.bytes
  t.ok(files.bytes < 50 * 1_048_576, `${files.bytes} bytes are read`)
  t.equal(files.open, 1)
  client.destroy()
  await files.over
  t.equal(files.open, 0)
})

t.test('in a browser: nothing in a file runs, images are shown, sound plays', needsChromium, async (t) => {
  const script = 'fetch("/ran"); document.title = "ran"'
  const page = `<title>still</title><body onload='${script}'><script>${script}</script><img src="/ran">`
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" onload='${script}'><script>${script}</script></svg>`
  const browser = await launchChromium()
  t.teardown(() => browser.close())
  const serve = async (mimeType: string, content: string | Buffer) => {
    const { app, url, path } = await serveFile(t, { mimeType, content: Buffer.from(content as string) })
    const asked: (string | undefined)[] = []
    app.server.on('request', (request) => asked.push(request.url))
    return { tab: await browser.newPage(), asked, address: url + path, path: `/api${path}` }
  }
  const active = {
    'text/html': page,
    'image/svg+xml': svg,
    'application/xhtml+xml': `<html>${page}</body></html>`
  }
  for (const [type, text] of Object.entries(active)) {
    const { tab, asked, address, path } = await serve(type, text)
    await t.rejects(tab.goto(address), /Download is starting/, `${type} is a download`)
    // The policy holds where the disposition does not.
    await tab.route(address, async (route) => {
      const response = await route.fetch()
      const { 'content-disposition': _, ...headers } = response.headers()
      await route.fulfill({ response, headers })
    })
    await tab.goto(address, { waitUntil: 'load' })
    t.strictSame(
      asked.filter((each) => each !== path),
      [],
      `${type} asks for nothing`
    )
    t.equal(await tab.evaluate('self.origin'), 'null')
  }

  const pixel =
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const image = await serve('image/png', Buffer.from(pixel, 'base64'))
  await image.tab.goto(image.address)
  t.equal(await image.tab.evaluate('document.images[0].naturalWidth'), 1)
  const sound = await serve('audio/wav', toWav(8_000))
  await sound.tab.goto(sound.address)
  await sound.tab.waitForFunction('document.querySelector("video").readyState === 4')
  const text = await serve('text/plain', page)
  await text.tab.goto(text.address)
  t.equal(await text.tab.evaluate('document.body.innerText'), page)
})

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await setImmediate()
}

/** Silence of one byte per sample. */
function toWav(samples: number): Buffer {
  const wav = Buffer.alloc(44 + samples, 128)
  wav.write('RIFF', 0)
  wav.writeUInt32LE(36 + samples, 4)
  wav.write('WAVEfmt ', 8)
  for (const [at, value] of [
    [16, 16],
    [24, 8_000],
    [28, 8_000]
  ] as const)
    wav.writeUInt32LE(value, at)
  for (const [at, value] of [
    [20, 1],
    [22, 1],
    [32, 1],
    [34, 8]
  ] as const)
    wav.writeUInt16LE(value, at)
  wav.write('data', 36)
  wav.writeUInt32LE(samples, 40)
  return wav
}
