import { globSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import pLimit from 'p-limit'
import { planProcesses } from './plan-processes.ts'
import { runAgain } from './run-again.ts'
import { runCheck } from './run-check.ts'
import { runProcess } from './run-process.ts'
import { TestLog } from './test-log.ts'

const HELP = `Runs the tests: npx node tools/tests/main.ts [options] [paths…]

  paths       files or folders; all tests, and lint, types, format and unused code, if none is given
  --jobs n    processes at once, by default one more than there are cores, since some tests mostly wait`

const CHECKS = [
  { name: 'lint and types', program: 'oxlint', args: ['--type-aware', '--type-check', '--threads=1'] },
  { name: 'unused code', program: 'knip', args: ['--no-config-hints'] },
  { name: 'format', program: 'oxfmt', args: ['--check', '--threads=1'] }
]

const root = resolve(import.meta.dirname, '../..')
const { values, positionals } = parseArgs({
  options: {
    jobs: { type: 'string', default: String(availableParallelism() + 1) },
    help: { type: 'boolean', short: 'h' }
  },
  allowPositionals: true
})
if (values.help === true) {
  console.log(HELP)
  process.exit()
}

// Ends the processes too.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))

process.chdir(root)
process.env['NODE_COMPILE_CACHE'] ??= resolve('node_modules/.cache/node')
const jobs = Number(values.jobs)
const wanted = positionals.map((path) => relative('.', resolve(process.env['INIT_CWD'] ?? root, path)))
const isWanted = (file: string) =>
  wanted.length === 0 || wanted.some((path) => file === path || file.startsWith(`${path}/`))
const files = globSync(['{packages,apps}/*/test/**/*.test.ts', 'test/**/*.test.ts'])
  .filter(isWanted)
  .toSorted()
const processes = planProcesses(files.map((path) => ({ path, source: readFileSync(path, 'utf8') })))

const log = new TestLog((line) => console.log(line))
const checks = wanted.length > 0 ? [] : CHECKS
const limit = pLimit(jobs)
await Promise.all([
  ...checks.map(({ program, ...check }) =>
    limit(() => runCheck({ ...check, program: resolve('node_modules/.bin', program) }, log))
  ),
  ...processes.map((each) => limit(() => runProcess(each, log)))
])
if (wanted.length === 0) await runAgain(log)
log.printSlowest(10)
process.exitCode = log.end() ? 0 : 1
