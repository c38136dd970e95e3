import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'

type Test = { teardown(what: () => unknown): unknown }

/** A running program, and its output so far. */
export interface Running {
  child: ChildProcess
  output: { stdout: string; stderr: string }
  /** Its exit code, or the signal that ended it. */
  ended: Promise<number | string | null>
}

/** Starts a program, which is killed when the test ends, or after a limit in milliseconds. */
export function start(
  t: Test,
  command: readonly string[],
  { limit = 90_000, ...options }: { cwd: string; env?: Record<string, string>; limit?: number }
): Running {
  const { PATH, NODE_COMPILE_CACHE } = process.env
  const env = { PATH, NODE_COMPILE_CACHE, ...options.env }
  // Like a user's shell: without the hooks that `npx tap` loads into every child.
  const child = spawn('env', ['-u', 'NODE_OPTIONS', ...command], {
    cwd: options.cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe']
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), limit)
  t.teardown(() => child.kill('SIGKILL'))
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk) => (output.stdout += String(chunk)))
  child.stderr.on('data', (chunk) => (output.stderr += String(chunk)))
  const ended = once(child, 'close').then(([code, signal]) => {
    clearTimeout(timer)
    return (code ?? signal) as number | string | null
  })
  return { child, output, ended }
}

/** Resolves with a program's output once it contains `text`; rejects if the program ends before. */
export async function untilSaid({ child, ended, output }: Running, text: string): Promise<string> {
  let over = false
  void ended.then(() => (over = true))
  while (!output.stdout.includes(text)) {
    if (over) throw new Error(`the program ended: ${output.stderr}`)
    await Promise.race([once(child.stdout!, 'data'), ended])
  }
  return output.stdout
}

/** Waits until a service responds with any status; rejects if its program ends before. */
export async function untilUp(base: string, { ended, output }: Running): Promise<void> {
  let over = false
  void ended.then(() => (over = true))
  while (!(await isUp(base))) {
    if (over) throw new Error(`the program ended: ${output.stderr}`)
    await new Promise((done) => setTimeout(done, 50))
  }
}

function isUp(base: string): Promise<boolean> {
  return fetch(base).then(
    () => true,
    () => false
  )
}
