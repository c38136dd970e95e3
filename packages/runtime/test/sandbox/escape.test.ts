import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { quickJsSandbox } from '@svc/runtime'
import t from 'tap'
import { childrenOf } from '../helpers/children-of.ts'
import { BRIDGE_PROBES } from './probes/bridge-probes.ts'
import { EXHAUST_PROBES } from './probes/exhaust-probes.ts'
import { REACH_PROBES } from './probes/reach-probes.ts'

const LIMITS = { timeout: 300, memory: 33_554_432, maxToolCalls: 20 }
const SECRET = 'a-secret-of-the-parent'
const MOST_MS = 8_000

t.setTimeout(240_000)
process.env['SANDBOX_SECRET'] = SECRET
const folder = t.testdir({ 'secret.txt': SECRET })
let connections = 0
const server = createServer((socket) => {
  connections++
  socket.destroy()
})
await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
const { port } = server.address() as { port: number }
const sandbox = quickJsSandbox({ limits: LIMITS, bubblewrap: 'off', processes: 2 })
const lag = monitorEventLoopDelay({ resolution: 5 })
t.teardown(async () => {
  await sandbox.close()
  server.close()
})

const fail = () => Promise.reject(new Error('failed here'))

/** Runs a probe with its own canary file, and checks its effects from outside. */
async function run(code: string, file: string) {
  let calls = 0
  let late = 0
  let isOver = false
  const echo = async (args: unknown) => {
    calls++
    if (isOver) late++
    return { args }
  }
  const startedAt = performance.now()
  const prefix = `const FILE = ${JSON.stringify(file)}, PORT = ${port};`
  const outcome = await sandbox.run({ code: prefix + code, tools: { echo, fail } })
  isOver = true
  const ms = performance.now() - startedAt
  return { outcome, ms, harm: () => ({ ...harmNow(file), late, tooMany: calls > LIMITS.maxToolCalls }) }
}

const harmNow = (file: string) => ({
  wrote: existsSync(file),
  connections,
  polluted: 'polluted' in {} || Object.keys(Object.prototype).length > 0,
  processes: childrenOf(process.pid).length > 2
})
const NO_HARM = { wrote: false, connections: 0, polluted: false, processes: false, late: 0, tooMany: false }

const probes = Object.entries({ ...REACH_PROBES, ...BRIDGE_PROBES, ...EXHAUST_PROBES })
await sandbox.run({ code: 'return 1', tools: {} })
lag.enable()
const done = new Map<string, Awaited<ReturnType<typeof run>>>()
const left = [...probes.entries()]
const worker = async () => {
  for (let next = left.shift(); next !== undefined; next = left.shift()) {
    const [index, [name, code]] = next
    done.set(name, await run(code, join(folder, `canary-${index}`)))
  }
}
await Promise.all([worker(), worker()])
lag.disable()

t.test('no probe escapes, and each ends in time', async (t) => {
  t.ok(probes.length >= 40)
  for (const [name] of probes) {
    const { outcome, ms, harm } = done.get(name)!
    t.strictSame(harm(), NO_HARM, `${name}: seen from outside`)
    const text = JSON.stringify(outcome)
    t.notMatch(text, SECRET, name)
    t.notMatch(text, /program-run|sandbox-process|child\/main/, 'nothing of the host')
    t.ok(ms < MOST_MS, `${name}: ${ms.toFixed(0)} ms`)
    if (outcome.error) t.match(outcome.error.code, /^RUN_ERR_(?:PROGRAM|TOOL)_/, name)
  }
})

t.test('after all probes', async (t) => {
  t.strictSame(readdirSync(folder), ['secret.txt'], 'no file was made')
  t.equal(readFileSync(join(folder, 'secret.txt'), 'utf8'), SECRET)
  t.match(await sandbox.run({ code: 'return 1', tools: {} }), { result: 1 }, 'the sandbox still works')
})

t.test('the detection of harm works', async (t) => {
  const file = join(folder, 'canary')
  t.match(harmNow(file), { wrote: false, connections: 0, polluted: false })
  writeFileSync(file, 'x')
  await fetch(`http://127.0.0.1:${port}`).catch(() => {})
  Object.assign(Object.prototype, { polluted: 1 })
  const harm = harmNow(file)
  Reflect.deleteProperty(Object.prototype, 'polluted')
  t.match(harm, { wrote: true, connections: 1, polluted: true })
})

t.test('what the reconnaissance probes saw', async (t) => {
  const { result } = await sandbox.run({ code: 'return Object.getOwnPropertyNames(globalThis)', tools: {} })
  const host = [
    'process',
    'require',
    'Buffer',
    'setTimeout',
    'fetch',
    'std',
    'os',
    'print',
    'Worker',
    'WebAssembly'
  ]
  t.strictSame(
    host.filter((name) => (result as string[]).includes(name)),
    []
  )
})

t.test('the serving process stayed responsive', async (t) => {
  const p99 = lag.percentile(99) / 1e6
  t.comment(
    `event loop lag: p50 ${(lag.percentile(50) / 1e6).toFixed(1)}, p99 ${p99.toFixed(1)}, max ${(lag.max / 1e6).toFixed(1)} ms`
  )
  // What a busy machine does to it is far from a program that blocks the process.
  t.ok(p99 < 250, `p99 of the lag: ${p99.toFixed(1)} ms`)
  t.ok(lag.max / 1e6 < 2_000, `the longest: ${(lag.max / 1e6).toFixed(1)} ms`)
})
