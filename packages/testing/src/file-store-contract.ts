import { createHash } from 'node:crypto'
import type { ByteRange, FileStore } from '@svc/contract'
import { codeOf, HOSTILE_TEXT, withStore, type ContractTest, type MakeStore } from './contract-test.ts'

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
// Larger than any piece in which stores read and write.
const LARGE = Uint8Array.from({ length: 700_001 }, (_, index) => (index * 31 + (index >> 8)) % 256)

async function* inChunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  const buffer = new Uint8Array(size)
  for (let at = 0; at < bytes.length; at += size) {
    const chunk = bytes.subarray(at, at + size)
    buffer.set(chunk)
    yield buffer.subarray(0, chunk.length)
    // The caller of a store may reuse its buffer.
    buffer.fill(0)
  }
}

async function read(store: FileStore, runId: string, fileId: string, range?: ByteRange) {
  const found = await store.get(runId, fileId, range)
  if (found === undefined) return undefined
  const chunks: Uint8Array[] = []
  for await (const chunk of found.content) chunks.push(chunk)
  return Buffer.concat(chunks)
}

async function* noBytes(): AsyncGenerator<Uint8Array> {}

async function* breaks(size: number): AsyncGenerator<Uint8Array> {
  yield LARGE.subarray(0, size)
  throw Object.assign(new Error('broken'), { code: 'ECONNRESET' })
}

/**
 * The contract of every `FileStore`.
 * @param makeBounded makes a store that keeps at most so many bytes
 */
export function fileStoreContract(
  t: ContractTest,
  make: MakeStore<FileStore>,
  makeBounded?: (maxBytes: number) => MakeStore<FileStore>
): void {
  withStore(t, make, 'keeps bytes and streams with their size and hash', async (t, store) => {
    const bytes = Uint8Array.from([0, 1, 254, 255])
    const before = Date.now()
    const file = await store.put('r', { mimeType: 'image/png', filename: HOSTILE_TEXT, content: bytes })
    t.ok(file.createdAt >= before && file.createdAt <= Date.now())
    const { fileId, createdAt } = file
    const described = { fileId, mimeType: 'image/png', filename: HOSTILE_TEXT, size: 4, createdAt }
    t.same(file, { ...described, sha256: sha256(bytes) })
    bytes.fill(7)
    t.same([...(await read(store, 'r', fileId))!], [0, 1, 254, 255], 'as they were')
    t.same((await store.get('r', fileId))?.file, file)

    const large = await store.put('r', { mimeType: 'video/mp4', content: inChunks(LARGE, 4_099) })
    t.ok(large.fileId !== fileId)
    t.same([large.size, large.sha256, 'filename' in large], [LARGE.length, sha256(LARGE), false])
    for (const _ of ['first', 'second'])
      t.equal(sha256((await read(store, 'r', large.fileId))!), large.sha256, 'is read as often as wanted')
  })

  withStore(t, make, 'keeps files of no bytes', async (t, store) => {
    for (const content of [new Uint8Array(), inChunks(new Uint8Array(), 1), noBytes()]) {
      const { fileId, size, ...file } = await store.put('r', { mimeType: 'text/plain', content })
      t.same([size, file.sha256], [0, sha256(new Uint8Array())])
      for (const range of [undefined, { start: 0 }, { start: 0, end: 1 }, { start: 1 }])
        t.equal((await read(store, 'r', fileId, range))?.length, 0, JSON.stringify(range))
    }
  })

  withStore(t, make, 'keeps files of one run and of several at the same time', async (t, store) => {
    const puts = Array.from({ length: 24 }, async (_, index) => {
      const runId = `r${index % 3}`
      const bytes = LARGE.subarray(index, 100_000 + index * 1_000)
      const content = index % 2 === 0 ? bytes : inChunks(bytes, 10_000)
      return { runId, bytes, file: await store.put(runId, { mimeType: 'a/b', content }) }
    })
    const kept = await Promise.all(puts)
    t.equal(new Set(kept.map(({ file }) => file.fileId)).size, kept.length)
    const hashes = kept.map(async ({ runId, file }) => sha256((await read(store, runId, file.fileId))!))
    t.same(
      await Promise.all(hashes),
      kept.map(({ bytes }) => sha256(bytes))
    )
  })

  withStore(t, make, 'reads ranges, and leaves out what lies beyond the end', async (t, store) => {
    const { fileId } = await store.put('r', { mimeType: 'a/b', content: LARGE })
    const { length } = LARGE
    const ranges: ByteRange[] = [
      { start: 0 },
      { start: 0, end: 1 },
      { start: 65_535, end: 65_537 },
      { start: 262_143, end: 524_289 },
      { start: length - 1 },
      { start: length - 1, end: length + 10 },
      { start: length },
      { start: length + 10 },
      { start: 0, end: 0 },
      { start: 5, end: 5 },
      { start: 10, end: 5 },
      { start: 1, end: Number.MAX_SAFE_INTEGER },
      { start: Number.MAX_SAFE_INTEGER }
    ]
    for (const range of ranges) {
      const expected = LARGE.subarray(range.start, range.end)
      const found = await store.get('r', fileId, range)
      t.equal(found?.file.size, length, 'the size is that of the whole file')
      t.equal(sha256((await read(store, 'r', fileId, range))!), sha256(expected), JSON.stringify(range))
    }
  })

  withStore(t, make, 'finds a file by its run only, until its run is removed', async (t, store) => {
    const put = (runId: string) => store.put(runId, { mimeType: 'a/b', content: Uint8Array.from([1]) })
    const [a, b, c] = [await put('a'), await put('b'), await put(HOSTILE_TEXT)]
    t.equal(await store.get('a', 'missing'), undefined)
    t.equal(await store.get('b', a.fileId), undefined)
    t.equal(await store.get('missing', a.fileId), undefined)
    await store.remove([])
    await store.remove(['a', 'missing', HOSTILE_TEXT])
    t.equal(await store.get('a', a.fileId), undefined)
    t.equal(await store.get(HOSTILE_TEXT, c.fileId), undefined)
    t.same([...(await read(store, 'b', b.fileId))!], [1])
  })

  withStore(t, make, 'takes any name of a run or a file, which is no path', async (t, store) => {
    const names = ['..', '../x', '/etc/passwd', 'a/b', 'C:\\x', '', '.', 'x'.repeat(5_000), HOSTILE_TEXT]
    const bytes = Uint8Array.from([1, 2])
    for (const name of names) {
      const { fileId, filename } = await store.put(name, { mimeType: 'a/b', filename: name, content: bytes })
      t.equal(filename, name)
      t.same([...(await read(store, name, fileId))!], [1, 2])
      t.equal(await store.get(fileId, name), undefined)
      for (const other of names) t.equal(await store.get(name, other), undefined)
    }
    await store.remove(names)
  })

  withStore(t, make, 'may be left or removed while it is read, and never ends early', async (t, store) => {
    const { fileId } = await store.put('r', { mimeType: 'a/b', content: LARGE })
    const open = async () => (await store.get('r', fileId))!.content
    for await (const chunk of await open()) {
      t.ok(chunk.length > 0)
      break
    }
    const readAll = async (content: AsyncIterable<Uint8Array>, atFirst: () => unknown) => {
      const chunks: Uint8Array[] = []
      for await (const chunk of content) if (chunks.push(chunk) === 1) await atFirst()
      t.equal(sha256(Buffer.concat(chunks)), sha256(LARGE), 'the whole file')
    }
    const [early, late] = [await open(), await open()]
    const codes = [
      await codeOf(() => readAll(early, () => store.remove(['r']))),
      await codeOf(() => readAll(late, () => {}))
    ]
    for (const code of codes) t.ok(code === 'none' || code === 'RUN_ERR_NOT_FOUND', String(code))
    t.equal(await store.get('r', fileId), undefined)
  })

  withStore(t, make, 'rejects with the error of a stream that breaks', async (t, store) => {
    for (const size of [0, 1, 100_000])
      t.equal(await codeOf(() => store.put('r', { mimeType: 'a/b', content: breaks(size) })), 'ECONNRESET')
  })

  if (makeBounded === undefined) return
  withStore(t, makeBounded(1_000), 'refuses what exceeds its limits', async (t, store) => {
    const put = async (content: Uint8Array | AsyncIterable<Uint8Array>) =>
      store.put('r', { mimeType: 'a/b', content })
    const { fileId } = await put(LARGE.subarray(0, 600))
    t.equal(await codeOf(() => put(LARGE)), 'RUN_ERR_FILE_LIMIT')
    t.equal(await codeOf(() => put(inChunks(LARGE, 100))), 'RUN_ERR_FILE_LIMIT')
    t.equal(await codeOf(() => put(LARGE.subarray(0, 401))), 'RUN_ERR_FILE_LIMIT')
    t.equal(await codeOf(() => put(breaks(400))), 'ECONNRESET')
    t.equal((await read(store, 'r', fileId))?.length, 600)
    await put(LARGE.subarray(0, 400))
    t.equal(await codeOf(() => put(Uint8Array.from([1]))), 'RUN_ERR_FILE_LIMIT')
    await put(new Uint8Array())
    await store.remove(['r'])
    await put(LARGE.subarray(0, 1_000))
  })
}
