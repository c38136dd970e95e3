import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { linkSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { join, relative } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createInterface } from 'node:readline'
import { createRunEngine } from '@svc/registry'
import { codeOf } from '@svc/testing'
import { createStore } from '@svc/store'
import t from 'tap'

const holder = new URL('helpers/holder.ts', import.meta.url).pathname

/** The part of a test that ends what it started. */
interface Teardown {
  teardown(what: () => unknown): unknown
}

/** A process that has the file; its first line is the id of its run, or the error's code. */
async function hold(t: Teardown, file: string) {
  const child = spawn(process.execPath, ['--conditions=@svc/source', holder, `sqlite:${file}`], {
    stdio: ['ignore', 'pipe', 'inherit']
  })
  t.teardown(() => child.kill('SIGKILL'))
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  return { child, line }
}

t.test('a second process is refused and the first untouched, until the first is killed', async (t) => {
  const file = join(t.testdir(), 'app.db')
  const first = await hold(t, file)
  const second = await hold(t, file)
  t.equal(second.line, 'STO_ERR_IN_USE')
  await once(second.child, 'exit')
  const err = await createStore({ url: `sqlite:${file}` }).then(String, (reason: Error) => reason)
  t.match(err, { code: 'STO_ERR_IN_USE', message: `This or another process has the database ${file}` })

  const reader = new DatabaseSync(file, { readOnly: true })
  const status = reader.prepare('select status from run where run_id = ?')
  t.match(status.get(first.line), { status: 'working' }, 'others read while it writes')
  reader.close()

  first.child.kill('SIGKILL')
  const third = await createStore({ url: `sqlite:${file}` })
  const engine = createRunEngine({ stores: third })
  t.equal(await engine.recover(), 1)
  t.match(await engine.get(first.line), { status: 'failed', error: { code: 'RUN_ERR_INTERRUPTED' } })
  await engine.close()
  await third.close()
})

t.test('a process opens a file once, by any path', async (t) => {
  const folder = t.testdir()
  const file = join(folder, 'app.db')
  const link = join(folder, 'link.db')
  const open = (path: string) => createStore({ url: `sqlite:${path}` })
  const first = await open(file)
  symlinkSync(file, link)
  for (const path of [file, link, relative('.', file)])
    t.equal(await codeOf(() => open(path)), 'STO_ERR_IN_USE', path)
  await first.check()
  await first.close()
  const second = await open(link)
  await second.close()
  t.same(readdirSync(folder).toSorted(), ['app.db', 'app.db-lock', 'link.db'])
})

t.test(
  'a file with a second name is opened under neither: another process may have it under the other',
  async (t) => {
    const folder = t.testdir({ elsewhere: {} })
    const [file, link] = [join(folder, 'app.db'), join(folder, 'elsewhere', 'other.db')]
    const first = await createStore({ url: `sqlite:${file}` })
    linkSync(file, link)
    for (const path of [link, file])
      t.equal(await codeOf(() => createStore({ url: `sqlite:${path}` })), 'STO_ERR_HARD_LINKS', path)
    await first.check()
    await first.close()
    t.equal(await codeOf(() => createStore({ url: `sqlite:${link}` })), 'STO_ERR_HARD_LINKS')
    rmSync(link)
    await (await createStore({ url: `sqlite:${file}` })).close()
    t.same(readdirSync(join(folder, 'elsewhere')), [])
  }
)

t.test('a database that fails to open is released', async (t) => {
  const file = join(t.testdir(), 'app.db')
  const database = new DatabaseSync(file)
  database.exec('create table run (a)')
  database.close()
  for (let count = 0; count < 2; count++)
    t.equal(await codeOf(() => createStore({ url: `sqlite:${file}` })), 'STO_ERR_OPEN')
})

t.test('databases in memory are any number', async () => {
  const stores = await Promise.all([1, 2].map(() => createStore({ url: 'sqlite::memory:' })))
  await Promise.all(stores.map((store) => store.close()))
})
