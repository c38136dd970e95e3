import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** A server under measurement, in a process of its own. */
export interface ServerProcess {
  readonly variant: string
  readonly url: string
  /** CPU time used so far, user and system, in microseconds. */
  cpu(): number
  /** The most memory it ever had resident, in bytes. */
  peakRss(): number
  /** From here on another most counts. */
  forgetPeak(): void
  stop(): Promise<void>
}

/** Starts a program with a variant and waits until it listens. @param program beside this file */
export async function startServer(
  variant: string,
  program = 'serve.ts',
  ...more: string[]
): Promise<ServerProcess> {
  const script = fileURLToPath(new URL(program, import.meta.url))
  // Packages are found as those of this process; a bare server has none of ours, or the model alone.
  const isBare = variant.startsWith('bare') && !variant.startsWith('bare-model')
  const flags = isBare ? [] : process.execArgv
  const args = [...flags, '--expose-gc', script, variant, ...more]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const url = await firstLine(child)
  return {
    variant,
    url,
    cpu: () => cpuOf(child.pid!),
    peakRss: () => peakRssOf(child.pid!),
    forgetPeak: () => writeFileSync(`/proc/${child.pid}/clear_refs`, '5'),
    async stop() {
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    }
  }
}

async function firstLine(child: ChildProcess): Promise<string> {
  let text = ''
  for await (const chunk of child.stdout!.iterator({ destroyOnReturn: false })) {
    text += String(chunk)
    const end = text.indexOf('\n')
    if (end >= 0) return text.slice(0, end)
  }
  throw new Error('the server ended before it listened')
}

// The times of processes are in ticks of 10 ms, those of threads in nanoseconds; ours all live as long as the process.
function cpuOf(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`)
  const nanoseconds = threads.map((thread) =>
    Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0])
  )
  return nanoseconds.reduce((sum, each) => sum + each, 0) / 1000
}

function peakRssOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]) * 1024
}
