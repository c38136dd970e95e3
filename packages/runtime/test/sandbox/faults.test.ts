import { execFile } from 'node:child_process'
import { getPriority } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { quickJsSandbox, type HostTool, type QuickJsSandboxOptions } from '@svc/runtime'
import t, { type Test } from 'tap'
import { childrenOf } from '../helpers/children-of.ts'

function make(t: Test, options: QuickJsSandboxOptions = {}) {
  const sandbox = quickJsSandbox({ bubblewrap: 'off', processes: 1, ...options })
  t.after(() => sandbox.close())
  return sandbox
}
const pids = () => childrenOf(process.pid).map(({ pid }) => pid)
const cyclic: { self?: unknown } = {}
cyclic.self = cyclic

t.test('a program survives any behaviour of a host tool', async (t) => {
  const sandbox = make(t)
  const failed = 'RUN_ERR_TOOL_FAILED'
  const bad = 'RUN_ERR_TOOL_BAD_OUTPUT'
  const faults: Record<string, [tool: () => unknown, code: string]> = {
    'throws at once': [
      () => {
        throw new Error('no')
      },
      failed
    ],
    'rejects with undefined': [() => Promise.reject(undefined), failed],
    'rejects with an own code and no message': [
      () => Promise.reject({ code: 'RUN_ERR_TOOL_X', message: 5n }),
      failed
    ],
    'rejects with a Proxy': [
      () =>
        Promise.reject(
          new Proxy(
            {},
            {
              get: () => {
                throw new Error('x')
              }
            }
          )
        ),
      failed
    ],
    'gives 50 MB': [() => 'x'.repeat(52_428_800), 'RUN_ERR_TOOL_OUTPUT_TOO_LARGE'],
    'gives a cycle': [() => cyclic, bad],
    'gives a BigInt': [() => 5n, bad],
    'gives a Map': [() => new Map(), bad]
  }
  for (const [name, [tool, code]] of Object.entries(faults)) {
    const tools = { tool: tool as HostTool }
    const outcome = await sandbox.run({ code: 'return tools.tool().catch((e) => e.code)', tools })
    t.strictSame(outcome, { result: code, console: '' }, name)
  }
  const given: Record<string, [value: unknown, found: unknown]> = {
    'a Date': [new Date(0), '1970-01-01T00:00:00.000Z'],
    nothing: [undefined, null],
    'a NUL': ['a\0b', 'a\0b'],
    'a thenable of JSON': [JSON.parse('{"then":1}'), JSON.parse('{"then":1}')]
  }
  for (const [name, [value, found]] of Object.entries(given)) {
    const tools = { tool: async () => value }
    t.strictSame((await sandbox.run({ code: 'return tools.tool()', tools })).result, found, name)
  }
  const poison = { tool: async (): Promise<unknown> => JSON.parse('{"__proto__":{"polluted":1}}') }
  const code = 'const given = await tools.tool(); return [Object.keys(given), given.polluted, {}.polluted]'
  t.strictSame((await sandbox.run({ code, tools: poison })).result, [['__proto__'], null, null])
})

t.test('a tool that never ends is aborted with the program', async (t) => {
  const sandbox = make(t)
  let received: AbortSignal | undefined
  const tools = {
    never: (_args: unknown, signal: AbortSignal) => ((received = signal), new Promise(() => {})),
    quick: async () => 1
  }
  const code = 'const never = tools.never(); await tools.quick(); throw new Error("enough")'
  t.match(await sandbox.run({ code, tools }), { error: { message: /enough/ } })
  t.match(received?.reason, {
    code: 'RUN_ERR_TOOL_FAILED',
    message: 'The program that made the call has ended'
  })
  t.match(await sandbox.run({ code: 'return 1', tools }), { result: 1 })
})

t.test('a time-out may fire before the program starts', async (t) => {
  const sandbox = make(t, { limits: { timeout: 1 } })
  for (let index = 0; index < 10; index++)
    t.match(await sandbox.run({ code: 'for (;;);', tools: {} }), {
      error: { code: 'RUN_ERR_PROGRAM_TIMEOUT', message: /1 ms/ }
    })
})

t.test('console output and messages are complete, up to their limits', async (t) => {
  const sandbox = make(t, { limits: { maxConsoleBytes: 10 } })
  const run = (code: string) => sandbox.run({ code, tools: {} })
  t.equal((await run('console.log("a\\0b"); console.log("c")')).console, 'a\0b\nc\n')
  t.match(await run('throw new Error("a\\0b")'), { error: { message: /^Error: a\0b/ } })
  t.equal((await run('console.log("é".repeat(20))')).console, 'é'.repeat(5), 'bytes, not characters')
  t.equal((await run('console.log("€".repeat(20))')).console, '€'.repeat(3), 'and no half character')
  t.match(await run('throw "x".repeat(1e7)'), { error: { message: 'x'.repeat(1_000) } })
  t.match(await run('}); throw { name: { toString: 1 } }; (async () => {'), {
    error: { code: 'RUN_ERR_PROGRAM_FAILED', message: 'The program failed' }
  })
})

t.test('tools with long names', async (t) => {
  const name = 'é'.repeat(1_000)
  const tools = { [name]: async (args: unknown) => args }
  const code = `return (await Promise.all(Array.from({ length: 50 }, (_, n) => tools[${JSON.stringify(name)}](n)))).length`
  t.match(await make(t).run({ code, tools }), { result: 50 })
})

t.test('bad parameters of a run do not replace the child', async (t) => {
  const sandbox = make(t)
  for (const bad of [{ code: 5n }, { tools: null }, { limits: { timeout: 0.5 } }])
    t.ok((await sandbox.run({ code: 'return 1', tools: {}, ...bad } as never)).error)
  t.match(await sandbox.run({ code: 'return 1', tools: {}, limits: { tiemout: 5 } as never }), {
    error: { code: 'RUN_ERR_BAD_SANDBOX', message: /tiemout/ }
  })
  t.match(await sandbox.run({ code: 'return 1', tools: {} }), { result: 1 })
})

t.test('a child killed during a program', async (t) => {
  const sandbox = make(t)
  const tools = {
    kill: async () => {
      for (const pid of pids()) process.kill(pid, 'SIGKILL')
      return new Promise(() => {})
    }
  }
  const [killed, next] = await Promise.all([
    sandbox.run({ code: 'return tools.kill()', tools }),
    sandbox.run({ code: 'return 1', tools })
  ])
  t.match(killed, { error: { code: 'RUN_ERR_SANDBOX_FAILED', message: /its process died/ } })
  t.match(next, { result: 1 }, 'a waiting program runs in another child')
})

t.test('100 programs wait for one child; every third is aborted', async (t) => {
  const sandbox = make(t)
  const gate = Promise.withResolvers<number>()
  const first = sandbox.run({ code: 'return tools.gate()', tools: { gate: () => gate.promise } })
  const reason = new Error('gone')
  const waiting = Array.from({ length: 100 }, (_, n) => {
    const controller = new AbortController()
    const { signal } = controller
    const outcome = sandbox.run({ code: 'return input', input: n, tools: {}, signal }).catch(String)
    return { controller, outcome, aborts: n % 3 === 0 }
  })
  for (const { controller, aborts } of waiting) if (aborts) controller.abort(reason)
  gate.resolve(7)
  t.match(await first, { result: 7 })
  for (const [n, { outcome, aborts }] of waiting.entries())
    t.strictSame(await outcome, aborts ? 'Error: gone' : { result: n, console: '' })
  t.equal(pids().length, 1)
})

t.test('a child has a lower priority than the serving process', async (t) => {
  const sandbox = make(t)
  await sandbox.run({ code: 'return 1', tools: {} })
  for (const pid of pids()) t.ok(getPriority(pid) > getPriority())
})

// A process that runs out of file descriptors, and then frees some.
const PROGRAM = `
  import { closeSync, openSync } from 'node:fs'
  import { quickJsSandbox } from '@svc/runtime'
  const sandbox = quickJsSandbox({ bubblewrap: 'off' })
  const files = []
  try { for (;;) files.push(openSync('/dev/null')) } catch {}
  const programs = Array.from({ length: 20 }, () => sandbox.run({ code: 'return 1', tools: {} }))
  const codes = new Set((await Promise.all(programs)).map(({ error }) => error?.code))
  for (const file of files) closeSync(file)
  const { result } = await sandbox.run({ code: 'return 1', tools: {} })
  process.stdout.write(JSON.stringify({ codes: [...codes], result }))`

t.test(
  'the system is out of file descriptors',
  { skip: process.platform === 'win32' && 'no limits' },
  async (t) => {
    const node = [process.execPath, '--conditions=@svc/source', '--input-type=module', '-e', PROGRAM]
    const { stdout } = await promisify(execFile)(
      '/bin/sh',
      ['-c', 'ulimit -n 64; exec "$@"', 'sh', ...node],
      {
        cwd: join(import.meta.dirname, '../..'),
        env: { PATH: process.env['PATH'] }
      }
    )
    t.strictSame(JSON.parse(stdout), { codes: ['RUN_ERR_SANDBOX_FAILED'], result: 1 })
  }
)
