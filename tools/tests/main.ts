import { globSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { planProcesses } from './plan-processes.ts'
import { runAll } from './run-all.ts'
import { runProcess } from './run-process.ts'
import { TestLog } from './test-log.ts'

const HELP = `Runs the tests: npx node tools/tests/main.ts [options] [paths…]

  paths       files or folders; all tests if none is given
  --jobs n    processes at once, by default one for each core; twice as many while cores are idle`

const root = resolve(import.meta.dirname, '../..')
const { values, positionals } = parseArgs({
  options: {
    jobs: { type: 'string', default: String(availableParallelism()) },
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
const processes = planProcesses(
  files.map((path) => ({ path, source: readFileSync(path, 'utf8') })),
  jobs
)

const log = new TestLog((line) => console.log(line))
await runAll(processes, { jobs, run: (process) => runProcess(process, log) })
log.printSlowest(10)
process.exitCode = log.end() ? 0 : 1
