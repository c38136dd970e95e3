import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createInterface } from 'node:readline'
import { buffer, text } from 'node:stream/consumers'
import type { SessionKey } from '@svc/registry'
import { storedRun, textEntry } from '@svc/testing'
import { createStore, type Store } from '@svc/store'
import { postgresForTests } from '@tools/postgres'
import t from 'tap'
import { runCommand } from '../../src/cli/run-command.ts'

const PROGRAM = new URL('../../src/cli/main.ts', import.meta.url).pathname
const KEY = '00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff'
const ALL = { entries: 99, bytes: 9_999_999 }
const session: SessionKey = { registry: 'global', owner: 'ada', kind: 'agent', name: 'echo', sessionId: 's' }
const usage = { promptTokens: 0, completionTokens: 0, totalTokens: 0 }

function start(args: string[], env: Record<string, string> = {}) {
  const { PATH, NODE_COMPILE_CACHE } = process.env
  return spawn(
    process.execPath,
    ['--conditions=@svc/source', '--disable-warning=ExperimentalWarning', PROGRAM, ...args],
    {
      env: { PATH, NODE_COMPILE_CACHE, ...env },
      stdio: ['ignore', 'pipe', 'pipe']
    }
  )
}

/** Runs a command in this process. */
async function run(args: string[], env: Record<string, string> = {}) {
  const written = { out: '', err: '' }
  const to = (name: 'out' | 'err') => ({ write: (text: string) => (written[name] += text) })
  const code = await runCommand(args, { env, stdout: to('out'), stderr: to('err') })
  return { ...written, code }
}

/** The tables of a file. */
function tablesOf(file: string): string[] {
  const database = new DatabaseSync(file)
  const rows = database.prepare(`select name from sqlite_master where type = 'table'`).all()
  database.close()
  return rows.map(({ name }) => String(name)).filter((name) => !/^(?:sqlite|kysely)_/.test(name))
}

/** Fills a store with something of each table; returns how to read all of it. */
async function fill(store: Store): Promise<(store: Store) => Promise<object>> {
  const { runs, log, sessions, memory, tasks, checkpoints, files, browserStates } = store
  const [ended, waiting] = [storedRun({ createdAt: 1 }), storedRun({ createdAt: 2, metadata: { a: 'é' } })]
  for (const each of [ended, waiting]) await runs.create(each)
  const result = {
    text: 'x'.repeat(700_000),
    toolCalls: [],
    usage,
    structured: null,
    durationMs: 1,
    runId: ended.runId,
    sessionId: 's',
    finishReason: 'stop' as const
  }
  await log.append(ended.runId, 1, [textEntry(1), textEntry(2)], {
    status: 'completed',
    at: 3,
    result,
    preview: 'x'
  })
  const input = {
    inputId: `${waiting.runId}.1`,
    kind: 'approval' as const,
    toolCallId: 'c',
    toolName: 't',
    args: { a: 'y'.repeat(9_000) },
    source: [],
    path: [],
    expiresAt: 9,
    answer: null
  }
  await log.append(waiting.runId, 1, [textEntry(1)], { status: 'input-required', at: 4, input })
  await runs.recordStep(waiting.runId, 1, '["a"]', { done: true })
  await runs.requestCancel(waiting.runId)
  await checkpoints.save(waiting.runId, 1, { input: 'x' })
  await sessions.append(session, 'a', [{ role: 'user', content: 'null \u0000 and \u001a' }])
  const item = { owner: 'ada', namespace: 'n', createdAt: 5, embedding: [0.5, -1], metadata: { a: 1 } }
  for (const id of ['a', 'b']) await memory.put({ ...item, id, text: `tea ${id}` })
  await tasks.create(
    {
      taskId: ended.runId,
      contextId: 'c',
      registry: 'global',
      owner: 'ada',
      agentName: 'echo',
      createdAt: 6,
      messages: ['hi']
    },
    'm'
  )
  await tasks.setPushConfig(ended.runId, { id: 'p', url: 'https://example.org' }, 0)
  await browserStates!.save(session, { cookies: [{ name: 'sid' }], origins: [] })
  const contents = [Buffer.alloc(600_000, 'z'), Buffer.alloc(0)]
  const ids = await Promise.all(
    contents.map(async (content) => (await files.put(ended.runId, { mimeType: 'a/b', content })).fileId)
  )

  return async (from) => ({
    runs: await Promise.all(
      [ended, waiting].map(async ({ runId }) => [await from.runs.get(runId), await from.runs.find(runId)])
    ),
    logs: await Promise.all(
      [ended, waiting].map(async ({ runId }) => (await from.log.read(runId, 0, ALL)).map(({ json }) => json))
    ),
    listed: await from.runs.list({ limit: 9 }),
    // Some stores also know the size of a checkpoint.
    left: (await from.runs.listLeft({ limit: 9 })).runs.map(({ checkpointBytes: _, ...run }) => run),
    inputs: await from.runs.listInputs({ kinds: ['approval'], limit: 9 }),
    step: await from.runs.readStep(waiting.runId, '["a"]'),
    checkpoint: await from.checkpoints.load(waiting.runId),
    session: await from.sessions.load(session, 9),
    memory: await from.memory.list('ada', 'n', 9),
    found: await from.memory.search('ada', 'n', 'tea b', 9),
    tasks: await from.tasks.list({ limit: 9 }),
    pushes: await from.tasks.listPushConfigs(ended.runId),
    state: await from.browserStates!.load(session),
    files: await Promise.all(
      ids.map(async (id) => {
        const { file, content } = (await from.files.get(ended.runId, id))!
        return { file, content: await buffer(content) }
      })
    )
  })
}

t.test('shows how it is used, and refuses anything else without showing a password', async (t) => {
  const help = await run(['--help'])
  t.match(help, { code: 0, err: '', out: /svc-store migrate \[url\]/ })
  for (const args of [
    [],
    ['migrate'],
    ['drop', 'sqlite::memory:'],
    ['migrate', 'mysql://u:secret@h/d'],
    ['migrate', 'postgres://u:secret@h:x/d'],
    ['migrate', 'postgres://u:secret@h/d', '--schema', 'No Schema'],
    ['migrate', 'sqlite::memory:', '--force'],
    ['copy', 'sqlite:a', 'sqlite:b'],
    ['copy', 'postgres://u:secret@h/d', 'sqlite:b']
  ]) {
    const { code, out, err } = await run(args)
    t.match({ code, out }, { code: 64, out: '' }, args.join(' '))
    t.match(err, /^\S.*\n\nUsage:/)
    t.notMatch(err, 'secret')
  }
})

t.test('is a program', async (t) => {
  const child = start(['migrate'])
  const [err, [code]] = await Promise.all([text(child.stderr), once(child, 'close')])
  t.match(err, /^Missing URL\n\nUsage:/)
  t.equal(code, 64)
})

t.test('migrates a file', async (t) => {
  const url = `sqlite:${join(t.testdir(), 'app.db')}`
  const first = await run(['migrate', url])
  t.match(first, { code: 0, out: /^applied 0001-first-tables\n[^]*the database is up to date\n$/ })
  t.same(await run(['migrate'], { DATABASE_URL: url }), {
    code: 0,
    out: 'the database is up to date\n',
    err: ''
  })
})

const url = await postgresForTests(t)
t.setTimeout(120_000)
t.test('with Postgres', { skip: url === undefined && 'no Postgres runs on this machine' }, async (t) => {
  const DATABASE_URL = url!
  let schemas = 0
  const newSchema = () => `cli_${process.pid}_${++schemas}`

  t.test('migrates a schema', async (t) => {
    const args = ['migrate', '--schema', newSchema()]
    const done = 'the database is up to date\n'
    const migrations = readdirSync(new URL('../../src/postgres/migrations', import.meta.url))
    const applied = migrations
      .flatMap((file) => /^\d{4}-.*(?=\.ts$)/.exec(file) ?? [])
      .toSorted()
      .map((name) => `applied ${name}\n`)
      .join('')
    t.same(await run(args, { DATABASE_URL }), { code: 0, out: `${applied}${done}`, err: '' })
    t.same(await run(args, { DATABASE_URL }), { code: 0, out: done, err: '' })
    t.match(await run(['migrate', 'postgres://127.0.0.1:1/x']), {
      code: 1,
      out: '',
      err: /^STO_ERR_UNREACHABLE: /
    })
  })

  t.test('copies everything of a file, into a schema that has nothing', async (t) => {
    const file = join(t.testdir(), 'app.db')
    const source = await createStore({ url: `sqlite:${file}`, stateKey: KEY })
    const readAll = await fill(source)
    const expected = await readAll(source)
    const schema = newSchema()
    const copy = () => run(['copy', `sqlite:${file}`, '--schema', schema], { DATABASE_URL })
    t.match(await copy(), { code: 1, out: '', err: /^STO_ERR_IN_USE: / }, 'a service uses it')
    await source.close()

    renameSync(`${file}-files`, `${file}-away`)
    t.match(await copy(), { code: 1, err: /^STO_ERR_COPY: .*content of file/ })
    renameSync(`${file}-away`, `${file}-files`)
    const copied = await copy()
    t.match(
      copied,
      { code: 0, err: '', out: /contents of files: 2 of 2\ncopied\n$/ },
      'a failed copy left nothing'
    )
    const tables = [...copied.out.matchAll(/^(\w+): /gm)].map(([, name]) => String(name))
    // Triggers make the lines and spans of the queue.
    t.same(new Set([...tables, 'queue_line', 'queue_span']), new Set(tablesOf(file)), 'no table is forgotten')
    t.match(await copy(), { code: 1, err: /^STO_ERR_NOT_EMPTY: / })

    const target = await createStore({ url: url!, schema, stateKey: KEY })
    t.teardown(() => target.close())
    t.same(await readAll(target), expected)
    await target.memory.put({ owner: 'ada', namespace: 'n', id: 'c', text: 'new tea', createdAt: 7 })
    await target.sessions.append(session, 'b', [{ role: 'user', content: 'next' }])
    t.equal((await target.memory.list('ada', 'n', 9))[0]?.id, 'c')
    t.equal((await target.sessions.load(session, 9)).length, 2)
  })

  t.test('a copy that is killed leaves nothing, and can be repeated', async (t) => {
    const file = join(t.testdir(), 'app.db')
    const source = await createStore({ url: `sqlite:${file}` })
    for (let index = 0; index < 30; index++) {
      const { runId } = storedRun()
      await source.runs.create(storedRun({ runId }))
      await source.log.append(
        runId,
        1,
        Array.from({ length: 100 }, (_, at) => textEntry(at + 1, 'x'.repeat(1_000)))
      )
    }
    await source.close()
    const args = ['copy', `sqlite:${file}`, '--schema', newSchema()]
    const child = start(args, { DATABASE_URL })
    const ended = once(child, 'close')
    for await (const line of createInterface({ input: child.stdout }))
      if (line.startsWith('run:')) child.kill('SIGKILL')
    t.same(await ended, [null, 'SIGKILL'])
    t.match(await run(args, { DATABASE_URL }), {
      code: 0,
      err: '',
      out: /run_part: 3000 of 3000\n[^]*copied\n$/
    })
  })
})
