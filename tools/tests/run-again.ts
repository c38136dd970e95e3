import { readFileSync } from 'node:fs'
import { planProcesses } from './plan-processes.ts'
import { runProcess } from './run-process.ts'
import type { TestLog } from './test-log.ts'

/** If more files fail, a fault is likelier than a busy machine. */
const MAX_FILES = 5

/**
 * Runs the files that failed once more, one after another with nothing beside them: a test of time-outs, of a browser or of audio can
 * fail on a machine that is busy with other tests. Those that pass now are named: each is a test to mend. A file that fails again has
 * failed.
 */
export async function runAgain(log: TestLog): Promise<void> {
  const files = log.failedFiles
  if (files.length === 0 || files.length > MAX_FILES) return
  log.forgetFailedFiles()
  for (const path of files) {
    log.note(`again  ${path}`)
    const [process] = planProcesses([{ path, source: readFileSync(path, 'utf8') }])
    await runProcess(process!, log)
  }
  for (const path of files)
    if (!log.failedFiles.includes(path)) log.note(`passed only with nothing beside it: ${path}`)
}
