import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { appendFileSync, readdirSync, renameSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { buffer } from 'node:stream/consumers'
import { createRunEngine, defineRunnable, type FileStore, type RunLog } from '@svc/registry'
import { codeOf, storedRun, textEntry } from '@svc/testing'
import { createStore, type Store, type StoreOptions } from '@svc/store'
import t, { type Test } from 'tap'

const HOUR = 3_600_000
const DAY = 24 * HOUR

interface Opened {
  store: Store
  /** The names in the folder of files. */
  names(): string[]
  folder: string
}

async function openStore(
  t: Test,
  options: Omit<StoreOptions, 'url'> = {},
  log?: Pick<RunLog, 'error'>
): Promise<Opened> {
  const file = join(t.testdir(), 'app.db')
  const store = await createStore({ ...options, url: `sqlite:${file}` }, log)
  t.teardown(() => store.close())
  const folder = `${file}-files`
  return { store, folder, names: () => readdirSync(folder).toSorted() }
}

const put = async (
  files: FileStore,
  runId: string,
  content: NonNullable<Parameters<FileStore['put']>[1]>['content']
) => files.put(runId, { mimeType: 'a/b', content })
const isThere = async (files: FileStore, runId: string, fileId: string) =>
  (await files.get(runId, fileId)) !== undefined

async function endRun({ log }: Store, runId: string, at: number): Promise<void> {
  await log.append(runId, 1, [textEntry(1)], { status: 'completed', at })
}

t.test('files are beside the database, private, named by their ids, and there after a restart', async (t) => {
  const folder = t.testdir()
  const [file, link] = [join(folder, 'app.db'), join(folder, 'link.db')]
  const first = await createStore({ url: `sqlite:${file}`, durability: 'full' })
  t.same(
    readdirSync(folder).filter((name) => name.endsWith('-files')),
    [],
    'no folder without files'
  )
  const { fileId, ...kept } = await first.files.put('r', {
    mimeType: 'image/png',
    filename: '../../a.png',
    content: Buffer.from('0123456789')
  })
  await first.close()
  t.same(readdirSync(`${file}-files`), [fileId])
  t.equal(statSync(`${file}-files`).mode & 0o777, 0o700)
  t.equal(statSync(join(`${file}-files`, fileId)).mode & 0o777, 0o600)

  symlinkSync(file, link)
  const second = await createStore({ url: `sqlite:${link}` })
  const found = await second.files.get('r', fileId, { start: 2, end: 5 })
  t.same(found?.file, { fileId, ...kept })
  t.equal(String(await buffer(found!.content)), '234')
  await second.close()
  t.same(readdirSync(folder).toSorted(), ['app.db', 'app.db-files', 'app.db-lock', 'link.db'])
})

t.test('files go with their run, whatever removes it, and no other file does', async (t) => {
  const { store, names } = await openStore(t, { retention: { maxRuns: 2 } })
  const runs = createRunEngine({ stores: store })
  t.teardown(() => runs.close())
  const maker = defineRunnable({
    kind: 'agent',
    name: 'maker',
    run: async (_input, { runId, stores }) => (await put(stores.files!, runId, Buffer.from('a'))).fileId
  })
  const make = async () => {
    const run = await runs.start(maker, 'x')
    return { runId: run.runId, fileId: (await run.result()).text }
  }
  const [first, second, third, fourth] = [await make(), await make(), await make(), await make()]
  await store.runs.remove(fourth.runId)
  t.same(names(), [first, second, third].map(({ fileId }) => fileId).toSorted())
  t.equal(await store.runs.sweep(Date.now()), 1)
  t.same(names(), [second, third].map(({ fileId }) => fileId).toSorted(), 'over the limit')
  t.equal(await store.runs.sweep(Date.now() + 8 * DAY), 2)
  t.same(names(), [], 'expired')
})

t.test('the oldest finished runs with files go when their files exceed the limit', async (t) => {
  const { store, names } = await openStore(t, { retention: { fileMaxBytes: 250 } })
  const runs = createRunEngine({ stores: store })
  t.teardown(() => runs.close())
  const make = async (bytes: number, endedAt?: number) => {
    const { runId } = storedRun()
    await store.runs.create({ ...storedRun(), runId })
    if (bytes > 0) await put(store.files, runId, Buffer.alloc(bytes))
    if (endedAt !== undefined) await endRun(store, runId, endedAt)
    return runId
  }
  const active = await make(1_000)
  const plain = await make(0, 1)
  const ended = [await make(100, 2), await make(100, 3), await make(100, 4), await make(50, 5)]
  t.equal(await store.runs.sweep(10), 1)
  const left = (await store.runs.list({ limit: 9 })).runs.map(({ runId }) => runId)
  t.same(left.toSorted(), [active, plain, ...ended.slice(1)].toSorted())
  t.equal(names().length, 4)
  await store.files.remove([ended[1]!])
  await make(80, 6)
  t.equal(await store.runs.sweep(10), 0, 'removed files do not count')
})

t.test(
  'a file and the files of a run are bounded, also at the same time, and no refused one is left',
  async (t) => {
    const { store, names } = await openStore(t, { files: { maxBytes: 300, maxRunBytes: 500 } })
    const limitOf = async (content: Parameters<typeof put>[2]) => {
      const { message } = await put(store.files, 'a', content).then(
        () => ({ message: 'none' }),
        (err: Error) => err
      )
      return /\d+/.exec(message)?.[0] ?? message
    }
    async function* endless() {
      for (;;) yield Buffer.alloc(50)
    }
    t.equal(await limitOf(Buffer.alloc(301)), '300')
    t.equal(await limitOf(endless()), '300')
    t.equal(await limitOf(Buffer.alloc(300)), 'none')
    t.equal(await limitOf(endless()), '500')
    t.same(names().length, 1)
    const codes = await Promise.all(
      Array.from({ length: 10 }, () => codeOf(() => put(store.files, 'b', Buffer.alloc(100))))
    )
    t.equal(codes.filter((code) => code === 'none').length, 5)
    t.equal(codes.filter((code) => code === 'RUN_ERR_FILE_LIMIT').length, 5)
    t.same(names().length, 6)
  }
)

t.test(
  'what a kill -9 leaves of a file is not visible, and is swept; what was acknowledged is there',
  async (t) => {
    const { store: unused, folder, names } = await openStore(t)
    await unused.close()
    const url = `sqlite:${folder.replace(/-files$/, '')}`
    const script = new URL('../helpers/file-writer.ts', import.meta.url).pathname
    const child = spawn(process.execPath, ['--conditions=@svc/source', script, url], {
      stdio: ['ignore', 'pipe', 'inherit']
    })
    const lines: string[] = []
    const closed = once(child, 'close')
    for await (const line of createInterface({ input: child.stdout })) {
      if (lines.push(line) > 20) child.kill('SIGKILL')
    }
    await closed
    const [runId = '', ...ids] = lines.filter((line) => line !== 'writes')
    t.equal(ids.length, 5)
    const partial = names().filter((name) => name.endsWith('.part'))
    t.equal(partial.length, 1)

    const store = await createStore({ url })
    t.teardown(() => store.close())
    t.equal(await isThere(store.files, runId, partial[0]!.replace('.part', '')), false)
    // A file whose process died before it wrote the row, and one of the user.
    for (const name of [randomUUID(), 'notes.txt']) writeFileSync(join(folder, name), 'x')
    await store.runs.sweep(Date.now())
    t.same(names(), ['notes.txt', ...ids].toSorted())
    for (const [index, fileId] of ids.entries()) {
      const { content } = (await store.files.get(runId, fileId))!
      t.ok((await buffer(content)).equals(Buffer.alloc(300_000, index)))
    }
  }
)

t.test('a sweep spares files that are being written', async (t) => {
  const { store, names } = await openStore(t)
  const [begun, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const putting = put(
    store.files,
    'r',
    (async function* () {
      yield Buffer.from('a')
      begun.resolve()
      await go.promise
      yield Buffer.from('b')
    })()
  )
  await begun.promise
  t.match(names(), [/\.part$/])
  await store.runs.sweep(Date.now())
  go.resolve()
  const { fileId } = await putting
  await store.runs.sweep(Date.now() + 2 * HOUR)
  t.equal(String(await buffer((await store.files.get('r', fileId))!.content)), 'ab')
})

t.test('files of runs that are not stored are removed after a day', async (t) => {
  const { store, names } = await openStore(t)
  await put(store.files, 'unknown', Buffer.from('a'))
  const run = storedRun()
  await store.runs.create(run)
  const { fileId } = await put(store.files, run.runId, Buffer.from('b'))
  await store.runs.sweep(Date.now() + 23 * HOUR)
  t.equal(names().length, 2)
  await store.runs.sweep(Date.now() + 25 * HOUR)
  t.same(names(), [fileId])
})

t.test(
  'a file whose bytes are missing or cut off is not found, is logged once, and may come back',
  async (t) => {
    const logged: object[] = []
    const { store, folder } = await openStore(
      t,
      {},
      { error: (details: object) => void logged.push(details) }
    )
    const run = storedRun()
    await store.runs.create(run)
    const { fileId } = await put(store.files, run.runId, Buffer.from('0123456789'))
    const path = join(folder, fileId)
    renameSync(folder, `${folder}.away`)
    for (const _ of [1, 2]) t.equal(await isThere(store.files, run.runId, fileId), false)
    await store.runs.sweep(Date.now() + 2 * DAY)
    renameSync(`${folder}.away`, folder)
    t.equal(await isThere(store.files, run.runId, fileId), true, 'the disk was mounted late')
    const reading = (await store.files.get(run.runId, fileId))!.content
    const handle = await open(path, 'r+')
    await handle.truncate(4)
    await handle.close()
    t.equal(await isThere(store.files, run.runId, fileId), false)
    t.equal(await codeOf(() => buffer(reading)), 'RUN_ERR_DAMAGED', 'never ends early')
    appendFileSync(path, '456789')
    t.equal(await isThere(store.files, run.runId, fileId), true)
    t.same(logged, [{ table: 'file', row: fileId }])
  }
)

t.test('a full disk fails the file only, and leaves nothing of it', async (t) => {
  const { store, names, folder } = await openStore(t, { durability: 'full' })
  const { fileId } = await put(store.files, 'r', Buffer.from('a'))
  const handle = await open(join(folder, fileId))
  const prototype = Object.getPrototypeOf(handle) as Record<string, (...args: unknown[]) => Promise<unknown>>
  await handle.close()
  for (const [name, failsAt] of Object.entries({ writeFile: 3, sync: 1 })) {
    const own = prototype[name]!
    let calls = 0
    prototype[name] = async function (...args) {
      if (++calls === failsAt) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
      return own.apply(this, args)
    }
    try {
      t.equal(await codeOf(() => put(store.files, 'r', Buffer.alloc(1_000_000))), 'ENOSPC', name)
    } finally {
      prototype[name] = own
    }
    t.same(names(), [fileId])
  }
  t.equal((await put(store.files, 'r', Buffer.from('b'))).size, 1)
})

t.test('a closed store refuses files and keeps none', async (t) => {
  const { store, names } = await openStore(t)
  await put(store.files, 'r', Buffer.from('a'))
  const [begun, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const putting = codeOf(() =>
    put(
      store.files,
      'r',
      (async function* () {
        yield Buffer.from('a')
        begun.resolve()
        await go.promise
      })()
    )
  )
  await begun.promise
  await store.close()
  go.resolve()
  t.equal(await putting, 'STO_ERR_CLOSED')
  t.equal(names().length, 1)
})

t.test('a database in memory keeps files in memory', async (t) => {
  const store = await createStore({ url: 'sqlite::memory:', files: { maxRunBytes: 10 } })
  t.teardown(() => store.close())
  const { fileId } = await put(store.files, 'r', Buffer.alloc(10))
  t.equal(await codeOf(() => put(store.files, 'r', Buffer.alloc(1))), 'RUN_ERR_FILE_LIMIT')
  await store.runs.sweep(Date.now() + 23 * HOUR)
  t.equal(await isThere(store.files, 'r', fileId), true)
  await store.runs.sweep(Date.now() + 25 * HOUR)
  t.equal(await isThere(store.files, 'r', fileId), false)
})

t.test('bad limits of files are refused', async (t) => {
  for (const files of [{ maxBytes: -1 }, { maxRunBytes: 1.5 }, { folder: '/x' }, []])
    t.equal(
      await codeOf(() => createStore({ url: 'sqlite::memory:', files: files as object })),
      'STO_ERR_BAD_OPTION'
    )
})
