import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { TestLog } from './test-log.ts'

/** A static check of the whole repository. */
export interface Check {
  name: string
  program: string
  args: string[]
}

/** Runs a check and logs its result, with all it printed if it fails. It takes one core, like a process of tests. */
export async function runCheck({ name, program, args }: Check, log: TestLog): Promise<void> {
  const begin = performance.now()
  // The type checker of the linter is a Go program.
  const child = spawn(program, args, {
    env: { ...process.env, GOMAXPROCS: '1' },
    stdio: ['ignore', 'pipe', 'pipe']
  })
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null]
  process.off('exit', kill)
  if (code === 0) log.pass(name, performance.now() - begin)
  else log.fail(name, `exit ${signal ?? code}`, output)
}
