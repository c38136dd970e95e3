import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { quickJsSandbox, type SandboxOutcome } from '@svc/runtime'
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
const file = join(folder, 'canary.txt')
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

let calls = 0
const tools = {
  echo: async (args: unknown) => (calls++, { args }),
  fail: () => Promise.reject(new Error('failed here'))
}

async function run(code: string): Promise<SandboxOutcome & { ms: number }> {
  const startedAt = performance.now()
  const prefix = `const FILE = ${JSON.stringify(file)}, PORT = ${port};`
  const outcome = await sandbox.run({ code: prefix + code, tools })
  return { ...outcome, ms: performance.now() - startedAt }
}

const probes = Object.entries({ ...REACH_PROBES, ...BRIDGE_PROBES, ...EXHAUST_PROBES })
await sandbox.run({ code: 'return 1', tools })
lag.enable()
const outcomes = new Map<string, Awaited<ReturnType<typeof run>>>()
const left = [...probes]
const worker = async () => {
  for (let next = left.shift(); next !== undefined; next = left.shift()) {
    outcomes.set(next[0], await run(next[1]))
  }
}
await Promise.all([worker(), worker()])
lag.disable()

t.test('no probe gets out, and each ends in its time', async (t) => {
  t.ok(probes.length >= 40)
  for (const [name] of probes) {
    const { ms, ...outcome } = outcomes.get(name)!
    t.notMatch(JSON.stringify(outcome), SECRET, name)
    t.ok(ms < MOST_MS, `${name}: ${ms.toFixed(0)} ms`)
    if (outcome.error) t.match(outcome.error.code, /^RUN_ERR_(?:PROGRAM|TOOL)_/, name)
    t.notMatch(JSON.stringify(outcome), /program-run|sandbox-process|child\/main/, 'nothing of the host')
  }
})

t.test('what a probe could have done, seen from outside', async (t) => {
  t.strictSame(readdirSync(folder), ['secret.txt'], 'no file was made')
  t.equal(readFileSync(join(folder, 'secret.txt'), 'utf8'), SECRET)
  t.equal(connections, 0, 'nothing connected')
  t.strictSame(Object.keys(Object.prototype), [])
  t.notOk('polluted' in {})
  t.ok(childrenOf(process.pid).length <= 2, 'no process but those of the pool')
  t.match(await sandbox.run({ code: 'return 1', tools }), { result: 1 }, 'the sandbox goes on')
})

t.test('the canaries would have sung', async (t) => {
  writeFileSync(file, 'x')
  t.equal(readdirSync(folder).length, 2)
  await fetch(`http://127.0.0.1:${port}`).catch(() => {})
  t.equal(connections, 1)
})

t.test('what the probes that look around saw', async (t) => {
  const { result } = await sandbox.run({ code: 'return Object.getOwnPropertyNames(globalThis)', tools })
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

t.test('the serving process went on serving', async (t) => {
  const p99 = lag.percentile(99) / 1e6
  t.comment(
    `event loop lag: p50 ${(lag.percentile(50) / 1e6).toFixed(1)}, p99 ${p99.toFixed(1)}, max ${(lag.max / 1e6).toFixed(1)} ms`
  )
  t.ok(p99 < 50, `p99 of the lag: ${p99.toFixed(1)} ms`)
  t.ok(lag.max / 1e6 < 250, `the longest: ${(lag.max / 1e6).toFixed(1)} ms`)
})
