import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { childCommand, hasBubblewrap } from '../../src/sandbox/child-command.ts'

// Simulates an escape from QuickJS: the code runs as the child's own, inside the same layers.
const ATTEMPTS = {
  readFile: "fs.readFileSync('/etc/passwd', 'utf8')",
  readSource: "fs.readFileSync('/proc/self/environ', 'utf8')",
  readParent: 'fs.readFileSync(`/proc/${process.ppid}/environ`, "utf8")',
  list: "fs.readdirSync('/')",
  writeFile: "fs.writeFileSync(FILE, 'x')",
  writeOwn: "fs.writeFileSync(process.argv[1] + '/x', 'x')",
  symlink: "fs.symlinkSync('/etc/passwd', FILE)",
  spawn: "require('node:child_process').execFileSync('/usr/bin/touch', [FILE])",
  fork: "require('node:child_process').fork(FILE)",
  worker: "new (require('node:worker_threads').Worker)('1', { eval: true })",
  addon: "process.dlopen({ exports: {} }, '/lib/x86_64-linux-gnu/libm.so.6')",
  wasi: "new (require('node:wasi').WASI)({ version: 'preview1', preopens: { '/': '/' } })",
  inspector: "require('node:inspector').open(0)",
  core: 'process.report.writeReport(FILE)',
  sqlite: "new (require('node:sqlite').DatabaseSync)(FILE).exec('create table a (b)')"
}
const program = (file: string, port: number) => `
  const fs = require('node:fs')
  const FILE = ${JSON.stringify(file)}
  const report = { env: Object.keys(process.env), ppid: process.ppid }
  const attempts = { ${Object.entries(ATTEMPTS)
    .map(([name, code]) => `${name}: () => ${code}`)
    .join(', ')} }
  for (const [name, attempt] of Object.entries(attempts)) {
    try { attempt(); report[name] = 'done' } catch (err) { report[name] = String(err.code ?? err) }
  }
  const socket = require('node:net').connect(${port}, '127.0.0.1')
  const end = (network) => { console.log(JSON.stringify({ ...report, network })); process.exit() }
  socket.on('connect', () => end('open')).on('error', () => end('closed'))`

async function runBehind(bubblewrap: boolean, code: string) {
  const { file, args } = childCommand({ maxMemory: 1, cpuSeconds: 2, bubblewrap })
  const entry = args.findIndex((arg) => /child\/main\.[jt]s$/.test(arg))
  const env = bubblewrap ? { PATH: process.env['PATH'] } : {}
  return promisify(execFile)(file, [...args.slice(0, entry), '-e', code], { env, cwd: '/' })
}

const server = createServer((socket) => socket.destroy())
await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
t.teardown(() => server.close())
const { port } = server.address() as { port: number }

for (const bubblewrap of [false, true]) {
  const skip = bubblewrap && !hasBubblewrap() ? 'bubblewrap does not work here' : false
  t.test(`code of the child itself${bubblewrap ? ' under bubblewrap' : ''}`, { skip }, async (t) => {
    const file = join(t.testdir(), 'canary')
    const { stdout } = await runBehind(bubblewrap, program(file, port))
    const { env, ppid, network, ...report } = JSON.parse(stdout) as Record<string, unknown>
    t.strictSame(env, bubblewrap ? ['PWD'] : [], 'no environment')
    for (const [name, outcome] of Object.entries(report))
      t.not(outcome, 'done', `${name}: ${String(outcome)}`)
    t.strictSame(Object.keys(report), Object.keys(ATTEMPTS))
    t.notOk(existsSync(file), 'seen from outside: no file')
    // Only the operating system can prevent this, as documented.
    t.equal(network, bubblewrap ? 'closed' : 'open')
    t.equal(ppid === 0, bubblewrap)
  })
}

t.test('kernel limits', { skip: process.platform !== 'linux' && 'not Linux' }, async (t) => {
  const dies = (code: string) => t.rejects(runBehind(false, code), code)
  await dies('const a = []; for (;;) a.push(Buffer.alloc(1e8, 1))')
  await dies('for (;;);')
  await dies('const a = []; for (;;) a.push({ a })')
})
