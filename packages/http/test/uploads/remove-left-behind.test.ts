import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, symlink, utimes, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { OWN_PREFIX } from '../../src/uploads/temp-directory.ts'
import { buildApp } from '../helpers/build-app.ts'
import { formOf, useTempFolder } from '../helpers/upload-app.ts'

const server = fileURLToPath(new URL('../helpers/upload-server.ts', import.meta.url))
const restart = (t: Test) => buildApp(t, { options: { fileUpload: true } })

/** A server in a process of its own, in the middle of a run with a file. */
async function startHolding(t: Test): Promise<ChildProcess> {
  const { NODE_OPTIONS: _, ...env } = process.env
  const child = fork(server, { env, execArgv: ['--conditions=@svc/source'] })
  t.teardown(() => child.kill('SIGKILL'))
  const [{ origin }] = (await once(child, 'message')) as [{ origin: string }]
  const body = formOf({}, ['a file', 'text/plain', 'a.txt'])
  void fetch(`${origin}/api/agents/holds/run`, { method: 'POST', body }).catch(() => {})
  await once(child, 'message')
  return child
}

async function kill(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL')
  await once(child, 'exit')
}

t.test('a start removes files of killed processes, not of living ones', async (t) => {
  const folder = await useTempFolder(t)
  const [first, second] = [await startHolding(t), await startHolding(t)]
  t.equal((await readdir(folder)).length, 2)
  await kill(first)
  t.equal((await readdir(folder)).length, 2, 'nobody could tidy up')
  await restart(t)
  const kept = await readdir(folder)
  t.equal(kept.length, 1)
  t.ok(kept[0]?.includes(`-${second.pid}-`))
  await kill(second)
  await restart(t)
  t.strictSame(await readdir(folder), [])
})

t.test('files of others are left alone', async (t) => {
  const folder = await useTempFolder(t)
  const dead = await startHolding(t)
  const [left = ''] = await readdir(folder)
  await kill(dead)
  const elsewhere = join(folder, 'elsewhere')
  await mkdir(elsewhere)
  await writeFile(join(elsewhere, 'a.txt'), 'x')
  const others = [
    left.replace(/^svc-upload-\w{8}/, 'svc-upload-00000000'),
    left.replace(`-${dead.pid}-`, '-x-'),
    left.replace(`-${dead.pid}-`, '-0-'),
    left.replace(`-${dead.pid}-`, '-1-'),
    `${OWN_PREFIX}now`,
    'svc-upload-',
    `my-${left}`
  ]
  for (const name of others) await mkdir(join(folder, name))
  await mkdir(join(folder, `${OWN_PREFIX}earlier`))
  await utimes(join(folder, `${OWN_PREFIX}earlier`), 1, 1)
  await symlink(elsewhere, join(folder, `${left}-link`))
  await restart(t)
  t.strictSame((await readdir(folder)).toSorted(), [...others, 'elsewhere'].toSorted())
  t.strictSame(await readdir(elsewhere), ['a.txt'], 'no link is followed')
})

t.test('a folder that cannot be read does not keep the app from starting', async (t) => {
  const folder = await useTempFolder(t)
  process.env['TMPDIR'] = join(folder, 'none')
  const { get } = await restart(t)
  t.equal((await get('/livez')).status, 200)
})
