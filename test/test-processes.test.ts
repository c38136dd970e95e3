import { join } from 'node:path'
import t, { type Test } from 'tap'
import { planProcesses } from '../tools/tests/plan-processes.ts'
import { runAgain } from '../tools/tests/run-again.ts'
import { runCheck } from '../tools/tests/run-check.ts'
import { runProcess } from '../tools/tests/run-process.ts'
import { TestLog } from '../tools/tests/test-log.ts'

// Some thirty processes are started, one after another.
t.setTimeout(240_000)

const PASSING = "import t from 'tap'\nt.test('passes', async (t) => t.equal(1, 1))\n"

/** Runs files in one process; returns what is printed, without times and folders. */
async function run(t: Test, sources: Record<string, string>, limit = 60_000) {
  const folder = t.testdir(sources)
  const printed: string[] = []
  const log = new TestLog((line) =>
    printed.push(line.replaceAll(`${folder}/`, '').replace(/ \(\d+ ms\)$/, ''))
  )
  await runProcess({ files: Object.keys(sources).map((name) => join(folder, name)), limit }, log)
  return { isGreen: log.end(), printed }
}

t.test('files share a process, and each has a root test of its own', async (t) => {
  const own = `import t from 'tap'
t.beforeEach((t) => (t.context.count = (t.context.count ?? 0) + 1))
t.teardown(() => (globalThis.ended = true))
t.test('is prepared once', async (t) => t.equal(t.context.count, 1))
t.test('is not ended yet', async (t) => t.equal(globalThis.ended, undefined))
`
  const next = "import t from 'tap'\nt.equal(globalThis.ended, true, 'the file before is over')\n"
  const { isGreen, printed } = await run(t, { 'a.test.ts': own, 'b.test.ts': next, 'c.test.ts': PASSING })
  t.ok(isGreen)
  t.strictSame(printed, [
    'ok     a.test.ts  2 passed, 0 failed',
    'ok     b.test.ts  1 passed, 0 failed',
    'ok     c.test.ts  1 passed, 0 failed',
    '4 passed, 0 failed'
  ])
})

t.test('a failure, with what the file printed, does not stop the next file', async (t) => {
  const failing = `import t from 'tap'
console.log('ok, I say')
console.error('and err')
t.test('fails', async (t) => t.equal(1, 2))
`
  const { isGreen, printed } = await run(t, { 'a.test.ts': failing, 'b.test.ts': PASSING })
  t.notOk(isGreen)
  t.equal(printed[0], 'not ok a.test.ts > fails > should be equal')
  t.ok(printed.includes('    | ok, I say'))
  t.ok(printed.includes('    | and err'))
  // The two streams of a process are read apart.
  const outcomes = printed.filter((line) => !line.startsWith('    | '))
  t.strictSame(outcomes.slice(-3), [
    'FAILED a.test.ts  0 passed, 1 failed',
    'ok     b.test.ts  1 passed, 0 failed',
    '1 passed, 1 failed'
  ])
})

t.test(
  'a file that failed runs again alone: what passes then counts and is named, the rest has failed',
  async (t) => {
    const folder = t.testdir({
      'busy.test.ts': `import { existsSync, writeFileSync } from 'node:fs'
import t from 'tap'
const mark = new URL('./mark', import.meta.url)
t.equal(1, 1)
t.ok(existsSync(mark))
writeFileSync(mark, '')
`,
      'exit.test.ts': 'process.exit(3)\n',
      'broken.test.ts': "import t from 'tap'\nt.equal(1, 2)\n",
      'passing.test.ts': PASSING
    })
    const printed: string[] = []
    const log = new TestLog((line) => printed.push(line.replaceAll(`${folder}/`, '')))
    for (const name of ['busy', 'broken', 'passing', 'exit'])
      await runProcess({ files: [join(folder, `${name}.test.ts`)], limit: 60_000 }, log)
    await runAgain(log)
    t.notOk(log.end())
    t.strictSame(
      printed.filter((line) => line.startsWith('again') || line.startsWith('passed only')),
      [
        'again  busy.test.ts',
        'again  broken.test.ts',
        'again  exit.test.ts',
        'passed only with nothing beside it: busy.test.ts'
      ]
    )
    t.equal(printed.at(-1), '3 passed, 2 failed')
  }
)

t.test('an error that escapes fails the test that it comes from', async (t) => {
  const pause =
    "import t from 'tap'\nconst pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))\n"
  const { printed } = await run(t, {
    'timer.test.ts': `${pause}t.test('one', async (t) => {
  setTimeout(() => { throw new Error('late') }, 5)
  await pause(20)
  t.pass()
})
t.test('two', async (t) => t.pass())
`,
    'rejection.test.ts': `${pause}t.test('one', async (t) => {
  await t.test('deep', async (t) => {
    await pause(1)
    void Promise.reject(new Error('lost'))
    await pause(20)
  })
})
t.test('two', async (t) => t.pass())
`,
    'parallel.test.ts': `${pause}t.jobs = 2
t.test('one', { buffered: true }, async () => {
  void pause(10).then(() => { throw new Error('of one') })
  await pause(50)
})
t.test('two', { buffered: true }, async () => await pause(50))
`,
    // The test has ended: then it is its file that fails.
    'after.test.ts': `${pause}t.test('one', async (t) => {
  void pause(10).then(() => { throw new Error('of one') })
  t.pass()
})
t.test('two', async () => await pause(50))
`,
    'top.test.ts': `${pause}setTimeout(() => { throw new Error('late') }, 5)
t.test('two', async () => await pause(50))
`,
    'own.test.ts': `${pause}t.test('who listens gets it', async (t) => {
  const seen = []
  const listen = (err) => seen.push(err.message)
  process.on('unhandledRejection', listen)
  void Promise.reject(new Error('mine'))
  await pause(1)
  process.off('unhandledRejection', listen)
  t.strictSame([seen, process.listenerCount('unhandledRejection')], [['mine'], 0])
})
`
  })
  t.strictSame(
    printed.filter((line) => /^(?:not )?ok /.test(line)),
    [
      'not ok timer.test.ts > one > late',
      'not ok rejection.test.ts > one > deep > lost',
      'not ok parallel.test.ts > one > of one',
      'not ok after.test.ts > of one',
      'not ok top.test.ts > late',
      'ok     own.test.ts  1 passed, 0 failed'
    ]
  )
})

t.test('tests leave the promises of their process alone', async (t) => {
  const counting = `import t from 'tap'
import { executionAsyncId } from 'node:async_hooks'
// Without hooks, what follows a promise has no id of its own.
await null
t.equal(executionAsyncId(), 0)
`
  const { printed } = await run(t, { 'a.test.ts': counting })
  t.equal(printed.at(-1), '1 passed, 0 failed')
})

t.test('the slowest files stand at the end, if there are more', async (t) => {
  const printed: string[] = []
  const log = new TestLog((line) => printed.push(line))
  const { parser } = log.createParser()
  parser.end('TAP version 14\nok 1 - a # time=10ms {\n    ok 1 - x\n    1..1\n}\n1..1\n')
  log.printSlowest(1)
  t.equal(printed.length, 1)
  log.createParser().parser.end('TAP version 14\nok 1 - b # time=1234ms {\n    ok 1 - x\n    1..1\n}\n1..1\n')
  log.printSlowest(1)
  t.strictSame(printed.slice(2), ['slowest of 2 files:', '   1.2 s  b'])
})

t.test('a test may wait for a timer that does not keep its process alive', async (t) => {
  const waiting = `import t from 'tap'
t.test('waits', async (t) => {
  await new Promise((resolve) => setTimeout(resolve, 50).unref())
  t.pass()
})
`
  const { printed } = await run(t, { 'a.test.ts': waiting, 'b.test.ts': PASSING })
  t.equal(printed.at(-1), '2 passed, 0 failed')
})

t.test('a file that cannot be loaded fails', async (t) => {
  const { printed } = await run(t, { 'a.test.ts': "import './none.ts'\n", 'b.test.ts': PASSING })
  t.match(printed[0], /Cannot find module/)
  t.equal(printed.at(-1), '1 passed, 1 failed')
})

t.test('files that a crash leaves without a result fail', async (t) => {
  const crash = "import t from 'tap'\nt.pass()\nprocess.kill(process.pid, 'SIGKILL')\n"
  const { printed } = await run(t, { 'a.test.ts': PASSING, 'b.test.ts': crash, 'c.test.ts': PASSING })
  t.strictSame(printed, [
    'ok     a.test.ts  1 passed, 0 failed',
    'not ok b.test.ts',
    '    reason: no result: exit SIGKILL',
    'not ok c.test.ts',
    '    reason: no result: exit SIGKILL',
    '1 passed, 2 failed'
  ])
})

t.test('a file that blocks its process is killed', async (t) => {
  const blocking =
    "import t from 'tap'\nt.pass()\nfor (const begin = Date.now(); Date.now() < begin + 60_000; );\n"
  const { printed } = await run(t, { 'a.test.ts': blocking }, 5_000)
  t.strictSame(printed, [
    'not ok a.test.ts',
    '    reason: no result: killed after 5000 ms',
    '0 passed, 1 failed'
  ])
})

t.test('a wrong exit code is a failure even if every test passed', async (t) => {
  const { printed } = await run(t, {
    'a.test.ts': `${PASSING}process.on('exit', () => (process.exitCode = 3))\n`
  })
  t.strictSame(printed, [
    'ok     a.test.ts  1 passed, 0 failed',
    'not ok a.test.ts',
    '    reason: exit 3 though every test passed',
    '1 passed, 1 failed'
  ])
})

t.test(
  'files of one folder share a process as far as their time-outs allow, the longest processes first',
  async (t) => {
    const file = (path: string, source = '') => ({ path, source })
    const processes = planProcesses([
      file('packages/a/test/1.test.ts'),
      file('packages/a/test/2.test.ts', "mock.timers.enable({ apis: ['Date'] })\n"),
      file('packages/a/test/3.test.ts', 't.setTimeout(160_000)\n'),
      file('packages/b/test/4.test.ts', 't.setTimeout(4 * DEADLINE)\n'),
      file('packages/b/test/5.test.ts', 't.setTimeout(320_000)\n'),
      file('packages/b/test/6.test.ts'),
      file('test/7.test.ts'),
      file('test/published/8.test.ts'),
      file('test/published/9.test.ts')
    ])
    t.strictSame(
      processes.map(({ files, limit }) => `${files.join(' ').replaceAll(/[^\d ]/g, '')}: ${limit / 1_000} s`),
      ['4 5: 780 s', '1 3: 280 s', '8 9: 180 s', '2: 120 s', '6: 120 s', '7: 120 s']
    )
  }
)

t.test('a check passes or fails with its program, and prints what a failing one printed', async (t) => {
  const printed: string[] = []
  const log = new TestLog((line) => printed.push(line.replace(/ \(\d+ ms\)$/, '')))
  const check = (name: string, code: string) =>
    runCheck({ name, program: process.execPath, args: ['-e', code] }, log)
  await check('good', "console.log('hidden')")
  await check('bad', "console.log('shown'); console.error('too'); process.exitCode = 2")
  t.notOk(log.end())
  t.strictSame(printed, [
    'ok     good',
    'not ok bad',
    '    reason: exit 2',
    '    shown',
    '    too',
    '1 passed, 1 failed'
  ])
})
