import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '../../../..')

/** The environment of a user's shell, and the cache of compiled code, without which a start takes twice as long. */
export const SHELL = {
  PATH: process.env['PATH'],
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE']
}

export interface DemoProcess {
  /** Everything that it wrote so far, to stdout and stderr. */
  said(): string
  /** Its exit code, once it has ended. */
  exited: Promise<number | null>
  /** Stops it as Ctrl+C does. */
  stop(): Promise<number | null>
  /** Ends it as kill -9 does. */
  kill(): Promise<unknown>
  /** What it wrote that matches, once it did; fails when it ends before. */
  says(pattern: RegExp): Promise<RegExpExecArray>
  /** Where it listens, once it does; fails when it ends before. */
  base(): Promise<string>
}

/** The program of the demo's cluster. */
export const CLUSTER = 'apps/demo/src/cluster/main.ts'

/** The demo, or its cluster, in a process of its own, with nothing in its environment but what is given. */
export function spawnDemo(
  t: { teardown(what: () => unknown): unknown },
  env: Record<string, string>,
  program = 'apps/demo/src/main.ts'
): DemoProcess {
  const child = spawn(process.execPath, ['--conditions=@svc/source', program], {
    cwd: ROOT,
    env: { ...SHELL, PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe']
  })
  t.teardown(() => child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
  const exited = once(child, 'close').then(([code]) => code as number | null)
  const says = async (pattern: RegExp) => {
    let found: RegExpExecArray | null
    while ((found = pattern.exec(output)) === null) {
      const ended = await Promise.race([exited, once(child.stdout, 'data')])
      if (!Array.isArray(ended)) throw new Error(`the demo ended with ${ended}: ${output}`)
    }
    return found
  }
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
    says,
    base: async () => (await says(/base {4}(\S+)/))[1]!
  }
}
