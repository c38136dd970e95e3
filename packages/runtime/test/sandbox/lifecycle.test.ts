import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { quickJsSandbox, type QuickJsSandboxOptions, type Sandbox } from '@svc/runtime'
import t, { type Test } from 'tap'
import { watchMemory } from '../../src/sandbox/sandbox-process.ts'
import { childrenOf } from '../helpers/children-of.ts'

const ROOT = new URL('../../', import.meta.url)

function make(t: Test, options: QuickJsSandboxOptions = {}) {
  const sandbox = quickJsSandbox({ bubblewrap: 'off', ...options })
  t.after(() => sandbox.close())
  return sandbox
}
const run = (sandbox: Sandbox, code: string, more: object = {}) => sandbox.run({ code, tools: {}, ...more })
const pids = () => childrenOf(process.pid).map(({ pid }) => pid)
const timers = () =>
  process.getActiveResourcesInfo().filter((name) => /Timeout|Immediate|Process|Pipe/.test(name)).length

t.test('a child is reused, and replaced after runsPerProcess programs', async (t) => {
  const sandbox = make(t, { processes: 1, runsPerProcess: 3 })
  const seen: number[] = []
  for (let index = 0; index < 7; index++) {
    await run(sandbox, 'return 1')
    seen.push(...pids())
  }
  t.equal(new Set(seen).size, 3)
})

t.test('a child is replaced after a fault of its own, not after an error of the program', async (t) => {
  const sandbox = make(t, { processes: 1 })
  await run(sandbox, 'return 1')
  const [first] = pids()
  await run(sandbox, 'throw 1')
  await run(sandbox, 'return (')
  t.strictSame(pids(), [first])
  for (const code of [
    'for (;;);',
    'const a = []; for (;;) a.push("x".repeat(1e6) + a.length)',
    'return JSON.parse("[".repeat(1e6))'
  ]) {
    const [before] = pids()
    t.ok((await run(sandbox, code, { limits: { timeout: 400 } })).error, code)
    t.match(await run(sandbox, 'return 1'), { result: 1 })
    t.equal(pids().includes(before!), false, code)
  }
})

t.test('a killed child leaves no zombie', async (t) => {
  const sandbox = make(t, { processes: 2 })
  for (let index = 0; index < 4; index++)
    await run(sandbox, '/(a+)+$/.test("a".repeat(50) + "b")', { limits: { timeout: 50 } })
  await sandbox.close()
  t.strictSame(childrenOf(process.pid), [])
})

t.test('an idle child that dies is replaced', async (t) => {
  const sandbox = make(t, { processes: 1 })
  await run(sandbox, 'return 1')
  const [pid] = pids()
  process.kill(pid!, 'SIGKILL')
  while (pids().includes(pid!)) await wait(5)
  t.match(await run(sandbox, 'return 2'), { result: 2 })
})

t.test('100 parallel programs in a pool of 2', async (t) => {
  const sandbox = make(t, { processes: 2 })
  const tools = { twice: async (args: unknown) => (args as { n: number }).n * 2 }
  let most = 0
  const outcomes = await Promise.all(
    Array.from({ length: 100 }, async (_, n) => {
      const code = n % 10 === 9 ? 'throw input' : 'return tools.twice({ n: input })'
      const outcome = await sandbox.run({ code, input: n, tools })
      most = Math.max(most, pids().length)
      return outcome
    })
  )
  for (const [n, outcome] of outcomes.entries())
    t.match(outcome, n % 10 === 9 ? { error: { message: String(n) } } : { result: n * 2 })
  t.ok(most <= 2)
})

t.test('more programs than the queue holds', async (t) => {
  const sandbox = make(t, { processes: 1, maxQueue: 2 })
  const outcomes = await Promise.all(Array.from({ length: 4 }, () => run(sandbox, 'return 1')))
  t.equal(outcomes.filter(({ error }) => error?.code === 'RUN_ERR_SANDBOX_BUSY').length, 2)
})

t.test('a program aborted while it waits for a child', async (t) => {
  const sandbox = make(t, { processes: 1 })
  const controller = new AbortController()
  const first = run(sandbox, 'return 1')
  const second = run(sandbox, 'return 2', { signal: controller.signal })
  controller.abort(new Error('gone'))
  await t.rejects(second, { message: 'gone' })
  t.match(await first, { result: 1 })
  t.match(await run(sandbox, 'return 3'), { result: 3 })
})

t.test('requested limits are capped, and bad input is refused', async (t) => {
  const sandbox = make(t, { processes: 1, limits: { timeout: 100 } })
  t.match(await run(sandbox, 'for (;;);', { limits: { timeout: 60_000 } }), { error: { message: /100 ms/ } })
  t.match(await run(sandbox, 'return 1', { input: 5n }), { error: { code: 'RUN_ERR_TOOL_BAD_ARGS' } })
})

t.test('close leaves no process, no timer and no listener', async (t) => {
  const before = { timers: timers(), listeners: process.eventNames().length }
  const sandbox = quickJsSandbox({ bubblewrap: 'off' })
  const controller = new AbortController()
  let added = 0
  const { signal } = controller
  const { addEventListener, removeEventListener } = signal
  signal.addEventListener = ((...args: Parameters<typeof addEventListener>) => (
    added++,
    addEventListener.apply(signal, args)
  )) as never
  signal.removeEventListener = ((...args: Parameters<typeof removeEventListener>) => (
    added--,
    removeEventListener.apply(signal, args)
  )) as never
  const running = [
    run(sandbox, 'return 1', { signal }),
    run(sandbox, 'for (;;);', { signal }),
    run(sandbox, 'return 3', { signal }),
    sandbox.run({ code: 'await tools.hang()', tools: { hang: () => new Promise(() => {}) }, signal })
  ]
  await running[0]
  await sandbox.close()
  await Promise.all(running)
  t.equal(added, 0, 'no listener on the signal')
  t.strictSame(childrenOf(process.pid), [])
  // The system reports a closed pipe some turns later.
  for (let turns = 0; timers() > before.timers && turns < 1_000; turns++) await wait(10)
  t.ok(timers() <= before.timers, 'no timer, no pipe')
  t.equal(process.eventNames().length, before.listeners)
})

t.test(
  'the memory of a process is watched',
  { skip: process.platform !== 'linux' && 'no /proc' },
  async (t) => {
    const code = 'const a = []; setInterval(() => a.push(Buffer.alloc(2e7, 1)), 10)'
    const child = execFile(process.execPath, ['-e', code])
    const stop = watchMemory(child.pid!, 2e8, () => child.kill('SIGKILL'))
    const [, signal] = (await once(child, 'exit')) as [number, string]
    stop()
    t.equal(signal, 'SIGKILL')
  }
)

const PROGRAM = `
  import { quickJsSandbox } from '@svc/runtime'
  const sandbox = quickJsSandbox({ bubblewrap: 'off', processes: 2 })
  console.log((await sandbox.run({ code: 'return 42', tools: {} })).result)
  if (process.argv[1] === 'busy') {
    for (const code of ['for (;;);', '/(a+)+$/.test("a".repeat(50) + "b")']) void sandbox.run({ code, tools: {} })
    setTimeout(() => console.log('busy'), 700)
  }`
const start = (...args: string[]) =>
  execFile(process.execPath, ['--conditions=@svc/source', '--input-type=module', '-e', PROGRAM, ...args], {
    cwd: ROOT
  })

t.test('an idle sandbox does not keep its process alive', async (t) => {
  const child = start()
  const [code] = (await once(child, 'exit')) as [number]
  t.equal(code, 0)
})

t.test('children die with the process that started them', async (t) => {
  const child = start('busy')
  let said = ''
  child.stdout!.on('data', (text: string) => (said += text))
  while (!said.includes('busy')) await wait(20)
  const left = childrenOf(child.pid!).map(({ pid }) => pid)
  t.equal(left.length, 2)
  child.kill('SIGKILL')
  await once(child, 'exit')
  const isAlive = (pid: number) => {
    try {
      return process.kill(pid, 0)
    } catch {
      return false
    }
  }
  const until = performance.now() + 40_000
  while (left.some(isAlive) && performance.now() < until) await wait(50)
  t.strictSame(left.filter(isAlive), [])
})
