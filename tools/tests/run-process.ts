import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Result } from 'tap-parser'
import type { PlannedProcess } from './plan-processes.ts'
import type { TestLog } from './test-log.ts'

const program = fileURLToPath(import.meta.resolve('./run-files.ts'))
const flags = ['--conditions=@svc/source', '--disable-warning=ExperimentalWarning']

/**
 * Runs test files in one process and logs their results. A file that a crash or a hang leaves without a result counts as failed. What the
 * files started and left behind in its process group ends with it.
 */
export async function runProcess({ files, limit }: PlannedProcess, log: TestLog): Promise<void> {
  const { parser, addNoise, printNoise } = log.createParser()
  const left = new Set(files)
  parser.on('assert', ({ name }: Result) => left.delete(name))
  const child = spawn(process.execPath, [...flags, program], {
    env: { ...process.env, TEST_FILES: JSON.stringify(files) },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true
  })
  const kill = () => {
    try {
      process.kill(-child.pid!, 'SIGKILL')
    } catch (err) {
      // All have ended.
      if ((err as NodeJS.ErrnoException).code !== 'ESRCH') throw err
    }
  }
  process.once('exit', kill)
  child.stderr.setEncoding('utf8').on('data', addNoise)
  child.stdout.pipe(parser)
  const closed = once(child, 'close')
  let isHung = false
  const timer = setTimeout(() => {
    isHung = true
    kill()
  }, limit)
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null]
  clearTimeout(timer)
  kill()
  await closed
  process.off('exit', kill)

  const end = isHung ? `killed after ${limit} ms` : `exit ${signal ?? code}`
  for (const file of left) log.failFile(file, `no result: ${end}`)
  const isExplained = left.size > 0 || parser.results?.ok === false
  if (code !== 0 && !isExplained) log.fail(files.join(' '), `${end} though every test passed`)
  if (code !== 0) printNoise()
}
