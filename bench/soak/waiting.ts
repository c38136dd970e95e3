import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isTerminalStatus, type RunStatus } from '@svc/registry'
import pLimit from 'p-limit'
import type { Finding } from './finding.ts'

const WORKER = fileURLToPath(new URL('waiting-worker.ts', import.meta.url))
const MEBIBYTE = 1_048_576
const INPUT = 'x'.repeat(990_000)

/** What came of a restart with workflows that wait. Memory is in bytes over that of the idle service. */
interface Restarted {
  /** Milliseconds from the start of the process to the first answer of `/livez`. */
  live: number
  /** Whether `/readyz` said 503 before the runs were there. */
  unready: boolean
  /** Milliseconds from the start of the process until `/readyz` says 200. */
  ready: number
  refusedAnswers: number
  /** Runs that did not end well with the right answer. */
  stuck: number
  peakUntilReady: number
  peak: number
}

/** Starts so many workflows that wait, each with an input of 990 kB, ends the service, starts it again, and answers them all. */
export async function restartWaiting(count: number, signal: 'SIGKILL' | 'SIGTERM'): Promise<Restarted> {
  const folder = mkdtempSync(join(tmpdir(), 'waiting-'))
  try {
    const idle = await serve(join(folder, 'idle.db'))
    await until(async () => (await idle.status('/readyz')) === 200)
    const idleRss = idle.memory('VmRSS')
    await idle.stop('SIGKILL')

    const file = join(folder, 'waiting.db')
    const before = await serve(file)
    const runs = await inParallel(count, () => before.start())
    await inParallel(runs, (runId) =>
      until(async () => (await before.run(runId)).status === 'input-required')
    )
    await before.stop(signal)

    const began = performance.now()
    const since = () => performance.now() - began
    const after = await serve(file)
    const live = (await after.status('/livez')) === 200 ? since() : Infinity
    const unready = (await after.status('/readyz')) === 503
    await until(async () => (await after.status('/readyz')) === 200)
    const ready = since()
    const peakUntilReady = after.memory('VmHWM') - idleRss
    const answers = await inParallel(runs, (runId) => after.approve(runId))
    const ends = await inParallel(runs, async (runId) => {
      await until(async () => isTerminalStatus((await after.run(runId)).status))
      return after.run(runId)
    })
    const peak = after.memory('VmHWM') - idleRss
    await after.stop('SIGKILL')
    const good = ends.filter((run) => run.status === 'completed' && run.result?.text === String(INPUT.length))
    const refusedAnswers = answers.filter((status) => status !== 200).length
    return { live, unready, ready, refusedAnswers, stuck: count - good.length, peakUntilReady, peak }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The same as findings, after a kill -9 and after a SIGTERM. */
export async function soakWaiting(count: number): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    const found = await restartWaiting(count, signal)
    const what = `${count} waiting workflows of 990 kB, ${signal}`
    findings.push(
      { what: `${what}: /livez answers after`, value: found.live / 1000, limit: 10, unit: 's' },
      { what: `${what}: /readyz too early`, value: found.unready ? 0 : 1, limit: 0, unit: '' },
      { what: `${what}: /readyz answers 200 after`, value: found.ready / 1000, limit: 120, unit: 's' },
      { what: `${what}: answers refused`, value: found.refusedAnswers, limit: 0, unit: '' },
      { what: `${what}: did not resume`, value: found.stuck, limit: 0, unit: '' },
      {
        what: `${what}: peak over idle until ready`,
        value: found.peakUntilReady / MEBIBYTE,
        limit: 200,
        unit: 'MiB'
      },
      { what: `${what}: peak over idle until the end`, value: found.peak / MEBIBYTE, limit: 200, unit: 'MiB' }
    )
  }
  return findings
}

async function serve(file: string) {
  const args = ['--conditions=@svc/source', '--disable-warning=ExperimentalWarning', WORKER, `sqlite:${file}`]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  const [line] = await Promise.race([once(child.stdout, 'data'), exited.then(() => ['it ended'])])
  const url = String(line).trim()
  if (!url.startsWith('http')) throw new Error(`the service did not start: ${url}`)
  const post = (path: string, body: object) =>
    fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', prefer: 'respond-async' },
      body: JSON.stringify(body)
    })
  return {
    /** Bytes, as the system counts them. */
    memory(what: 'VmRSS' | 'VmHWM'): number {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
      return Number(new RegExp(`^${what}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1024
    },
    status: async (path: string) => (await fetch(url + path)).status,
    async start(): Promise<string> {
      const { runId } = (await (await post('/workflows/gate/run', { input: INPUT })).json()) as {
        runId: string
      }
      return runId
    },
    async run(runId: string) {
      return (await (await fetch(`${url}/runs/${runId}`)).json()) as {
        status: RunStatus
        result?: { text: string }
      }
    },
    approve: async (runId: string) => (await post(`/approvals/${runId}.1`, { approved: true })).status,
    async stop(signal: NodeJS.Signals): Promise<void> {
      child.kill(signal)
      await exited
    }
  }
}

async function inParallel<A, B>(items: readonly A[] | number, does: (item: A) => Promise<B>): Promise<B[]> {
  const limit = pLimit(20)
  const all = typeof items === 'number' ? Array.from<A>({ length: items }) : items
  return Promise.all(all.map((item) => limit(() => does(item))))
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 120_000; !(await holds());) {
    if (Date.now() > end) throw new Error('not within two minutes')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
