import { join } from 'node:path'
import { start } from './shell.ts'
import type { ProgramEnd } from './run-in-turn.ts'

const RUN_IN_TURN = join(import.meta.dirname, 'run-in-turn.ts')
const LIMIT = 300_000

/**
 * Runs programs to their ends, one after the other, in one process: most of the time of a process is its start. If one crashes the
 * process, the next ones get another. The results have the order of the files.
 */
export async function runPrograms(
  t: { teardown(what: () => unknown): unknown },
  files: readonly string[],
  options: { cwd: string; env: Record<string, string> }
): Promise<ProgramEnd[]> {
  const ends: ProgramEnd[] = []
  while (ends.length < files.length) {
    const left = files.slice(ends.length)
    const command = [process.execPath, '--conditions=@svc/source', '--no-warnings', RUN_IN_TURN, ...left]
    const { output, ended } = start(t, command, { ...options, limit: LIMIT })
    const code = await ended
    const lines = output.stdout.split('\n').filter((line) => line.startsWith('{'))
    ends.push(...lines.map((line) => JSON.parse(line) as ProgramEnd))
    const crashed = files[ends.length]
    if (crashed !== undefined)
      ends.push({ file: crashed, code: Number(code) || 1, stdout: '', stderr: `${code}: ${output.stderr}` })
  }
  return ends
}
