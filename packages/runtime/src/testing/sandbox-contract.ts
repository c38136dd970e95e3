import type { ContractTest } from '@svc/contract'
import type { Sandbox, SandboxOutcome, SandboxRun } from '../sandbox/sandbox.ts'

/** Creates a sandbox for one test, which closes it. */
export type MakeSandbox = () => Sandbox | Promise<Sandbox>

const noSuchCity = () => Promise.reject(new Error('no such city'))

type Run = (code: string, more?: Partial<SandboxRun>) => Promise<SandboxOutcome>

// Thrown values that must all count as a failed program.
const THROWN = [
  'null',
  'undefined',
  '"null"',
  'NaN',
  '5n',
  'Symbol("x")',
  '() => 1',
  'Object.create(null)',
  '{ get message() { throw null } }',
  'Object.defineProperty(new Error("x"), "message", { get() { throw null } })',
  'new Proxy({}, { get() { throw null } })',
  'new Proxy(new Error("x"), { get() { throw null }, getPrototypeOf() { throw null } })',
  'new Error("x".repeat(1e5))'
]

const CASES: Record<string, (t: ContractTest, run: Run, sandbox: Sandbox) => Promise<void>> = {
  async 'returns the result of a program as plain data'(t, run) {
    t.same((await run('return { a: [1, "é", null, true] }')).result, { a: [1, 'é', null, true] })
    t.equal((await run('1 + 1')).result, null, 'no result is null')
    t.equal((await run('return input.n * 2', { input: { n: 21 } })).result, 42)
    t.equal((await run('return await Promise.resolve(5)')).result, 5)
    t.same((await run('return { d: new Date(0) }')).result, { d: '1970-01-01T00:00:00.000Z' })
  },
  async 'reports errors with their codes'(t, run) {
    const codeOf = async (code: string) => (await run(code)).error?.code
    t.equal(await codeOf('throw new TypeError("no")'), 'RUN_ERR_PROGRAM_FAILED')
    t.equal(await codeOf('return ('), 'RUN_ERR_PROGRAM_FAILED')
    t.equal(await codeOf('await new Promise(() => {})'), 'RUN_ERR_PROGRAM_FAILED')
    t.equal(await codeOf('return () => 1'), 'RUN_ERR_TOOL_BAD_OUTPUT')
    t.equal(await codeOf('return 5n'), 'RUN_ERR_TOOL_BAD_OUTPUT')
    t.equal(await codeOf('const a = {}; a.a = a; return a'), 'RUN_ERR_TOOL_BAD_OUTPUT')
    t.ok((await run('\nthrow new TypeError("no")')).error?.message.includes('TypeError: no'))
  },
  async 'treats every thrown value as a failure of the program'(t, run) {
    for (const thrown of THROWN) {
      for (const code of [`throw (${thrown})`, `return Promise.reject(${thrown})`]) {
        const { error } = await run(code)
        t.equal(error?.code, 'RUN_ERR_PROGRAM_FAILED', code)
        t.ok((error?.message.length ?? 0) <= 1_000, 'bounded message')
      }
    }
    const { error } = await run('return { get a() { throw null } }')
    t.equal(error?.code, 'RUN_ERR_TOOL_BAD_OUTPUT')
  },
  async 'calls host tools with JSON only'(t, run) {
    const received: unknown[] = []
    const echo = async (args: unknown) => (received.push(args), { args })
    const tools = { echo, bad: noSuchCity }
    t.same((await run('return tools.echo({ a: 1 })', { tools })).result, { args: { a: 1 } })
    const all = await run('return Promise.all([1, 2, 3].map((n) => tools.echo({ n })))', { tools })
    t.same(all.result, [{ args: { n: 1 } }, { args: { n: 2 } }, { args: { n: 3 } }])
    const caught = await run('try { await tools.bad() } catch (e) { return [e.message, e.code] }', { tools })
    t.same(caught.result, ['no such city', 'RUN_ERR_TOOL_FAILED'])
    t.equal((await run('await tools.bad()', { tools })).error?.code, 'RUN_ERR_PROGRAM_FAILED')
    t.equal(
      (await run('return typeof tools.other + typeof tools.toString', { tools })).result,
      'undefinedundefined'
    )
    received.length = 0
    await run('tools.echo({ late: true })', { tools })
    t.same(received, [{ late: true }], 'makes a call without await')
  },
  async 'enforces the limits'(t, run) {
    const limits = { maxOutputBytes: 1_000, maxConsoleBytes: 10, maxToolCalls: 2 }
    const code = async (program: string) => (await run(program, { limits, tools })).error?.code
    const tools = { one: async () => 1 }
    const late = await run('while (true);', { limits: { timeout: 150 } })
    t.equal(late.error?.code, 'RUN_ERR_PROGRAM_TIMEOUT')
    const chain = 'const next = () => Promise.resolve().then(next); next(); await new Promise(() => {})'
    const endless = await run(chain, { limits: { timeout: 150 } })
    t.equal(endless.error?.code, 'RUN_ERR_PROGRAM_TIMEOUT')
    const grown = await run(chain, { limits: { memory: 4_194_304, timeout: 30_000 } })
    t.equal(grown.error?.code, 'RUN_ERR_PROGRAM_MEMORY', 'each promise of a chain takes memory')
    t.equal(await code('return "x".repeat(1000)'), 'RUN_ERR_TOOL_OUTPUT_TOO_LARGE')
    const bomb = 'const all = []; for (;;) all.push(new Array(1e4).fill(1))'
    t.equal((await run(bomb, { limits: { memory: 8_388_608 } })).error?.code, 'RUN_ERR_PROGRAM_MEMORY')
    t.equal(await code('for (let i = 0; i < 3; i++) await tools.one()'), 'RUN_ERR_PROGRAM_FAILED')
    const { console } = await run('const { log } = console; log("0123456789abcdef")', { limits })
    t.equal(console, '0123456789')
  },
  async 'does not count the time of host tools'(t, run) {
    const tools = { slow: () => new Promise((resolve) => setTimeout(resolve, 400, 'done')) }
    t.equal((await run('return tools.slow()', { tools, limits: { timeout: 300 } })).result, 'done')
  },
  async 'isolates programs from each other'(t, run) {
    await run('globalThis.left = 1; Array.prototype.left = 2; Object.prototype.left = 3')
    t.same((await run('return [typeof left, [].left, {}.left]')).result, ['undefined', null, null])
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, index) => run('return input', { input: index }))
    )
    t.same(
      outcomes.map(({ result }) => result),
      outcomes.map((_, index) => index)
    )
  },
  async 'ends a program when the signal aborts'(t, run) {
    const reason = new Error('gone')
    const controller = new AbortController()
    const called = Promise.withResolvers<AbortSignal>()
    const tools = {
      hang: (_args: unknown, signal: AbortSignal) => (called.resolve(signal), new Promise(() => {}))
    }
    const running = run('await tools.hang()', { tools, signal: controller.signal })
    const signal = await called.promise
    controller.abort(reason)
    t.equal(await running.catch((err: unknown) => err), reason)
    t.equal(signal.aborted, true, 'aborts pending calls')
    t.equal(await run('return 1', { signal: controller.signal }).catch((err: unknown) => err), reason)
    t.equal((await run('return 1')).result, 1, 'the sandbox still works')
  },
  async 'ends all programs on close'(t, run, sandbox) {
    const running = run('for (;;);')
    await run('return 1')
    await sandbox.close()
    t.equal((await running).error?.code, 'RUN_ERR_SANDBOX_CLOSED')
    t.equal((await run('return 1')).error?.code, 'RUN_ERR_SANDBOX_CLOSED')
    await sandbox.close()
  },
  async 'describes itself'(t, _run, sandbox) {
    const { name, confined, walls } = sandbox.describe()
    t.equal(typeof name, 'string')
    t.equal(typeof confined, 'boolean')
    t.ok(walls.length > 0)
  }
}

/** The contract tests of `Sandbox`. */
export function sandboxContract(t: ContractTest, makeSandbox: MakeSandbox): void {
  for (const [name, check] of Object.entries(CASES)) {
    t.test(name, {}, async (child: ContractTest) => {
      const sandbox = await makeSandbox()
      try {
        await check(child, (code, more) => sandbox.run({ code, tools: {}, ...more }), sandbox)
      } finally {
        await sandbox.close()
      }
    })
  }
}
