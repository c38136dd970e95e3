import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '../../../..')

export interface DemoProcess {
  /** Everything that it wrote so far, to stdout and stderr. */
  said(): string
  /** Its exit code, once it has ended. */
  exited: Promise<number | null>
  /** Stops it as Ctrl+C does. */
  stop(): Promise<number | null>
  /** Ends it as kill -9 does. */
  kill(): Promise<unknown>
  /** Where it listens, once it does; fails when it ends before. */
  base(): Promise<string>
}

/** The demo in a process of its own, with nothing in its environment but what is given. */
export function spawnDemo(
  t: { teardown(what: () => unknown): unknown },
  env: Record<string, string>
): DemoProcess {
  const child = spawn(process.execPath, ['--conditions=@svc/source', 'apps/demo/src/main.ts'], {
    cwd: ROOT,
    env: { PATH: process.env['PATH'], PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe']
  })
  t.teardown(() => child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
  const exited = once(child, 'close').then(([code]) => code as number | null)
  return {
    said: () => output,
    exited,
    stop() {
      child.kill('SIGINT')
      return exited
    },
    kill() {
      child.kill('SIGKILL')
      return exited
    },
    async base() {
      let found: RegExpExecArray | null
      while ((found = /base {4}(\S+)/.exec(output)) === null) {
        const ended = await Promise.race([exited, once(child.stdout, 'data')])
        if (!Array.isArray(ended)) throw new Error(`the demo ended with ${ended}: ${output}`)
      }
      return found[1]!
    }
  }
}
