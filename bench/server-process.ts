import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

// Linux counts CPU time in ticks of 10 ms.
const MICROSECONDS_PER_TICK = 10_000

/** A server under measurement, in a process of its own. */
export interface ServerProcess {
  readonly variant: string
  readonly url: string
  /** CPU time used so far, user and system, in microseconds. */
  cpu(): number
  /** The most memory it ever had resident, in bytes. */
  peakRss(): number
  stop(): Promise<void>
}

/** Starts a program with a variant and waits until it listens. @param program beside this file */
export async function startServer(variant: string, program = 'serve.ts'): Promise<ServerProcess> {
  const script = fileURLToPath(new URL(program, import.meta.url))
  const flags = ['--conditions=@svc/source', '--disable-warning=ExperimentalWarning', '--expose-gc']
  const args = [...flags, script, variant]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const url = await firstLine(child)
  return {
    variant,
    url,
    cpu: () => cpuOf(child.pid!),
    peakRss: () => peakRssOf(child.pid!),
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

function cpuOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The second field is the name in parentheses, which may hold spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * MICROSECONDS_PER_TICK
}

function peakRssOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]) * 1024
}
