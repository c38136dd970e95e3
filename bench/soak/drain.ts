import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { ask, ENDS, Ledger } from './drain-clients.ts'
import { SERVED_TO_THE_END, load, seed } from './drain-load.ts'
import type { Finding } from './finding.ts'

/** How much is done to the service. */
interface DrainLoad {
  /** Clients of each kind. */
  clients: number
  /** Runs of each kind when the service is asked to end. */
  stock: number
  /** Milliseconds. */
  drainTimeout: number
}

/** What came of draining under load. */
interface Drained {
  /** Answers that were not as they should be before the last run had ended. */
  faults: string[]
  /** Ends reported to clients that are not true after the restart. */
  untrue: string[]
  /** Requests that should have been served, and kinds of ends that no client saw. */
  missing: string[]
  runs: number
  refusals: number
  served: number
  /** Milliseconds from the signal to the exit of the process. */
  took: number
}

const WORKER = fileURLToPath(new URL('drain-worker.ts', import.meta.url))

/** Ends a service that is used over HTTP, sockets and A2A, starts it again, and compares the ends that its clients saw. */
export async function drainUnderLoad({ clients, stock, drainTimeout }: DrainLoad): Promise<Drained> {
  const folder = mkdtempSync(join(tmpdir(), 'drain-'))
  const url = `sqlite:${join(folder, 'drain.db')}`
  try {
    const first = await start(url, drainTimeout)
    const ledger = new Ledger(first.origin)
    await seed(ledger, stock)
    const loading = load(ledger, clients)
    while (ledger.runs['talker']!.length < stock) await pause(10)
    const before = performance.now()
    first.child.kill('SIGTERM')
    const endedAt = await first.ended
    await first.exited
    const took = performance.now() - before
    ledger.isOver = true
    await loading

    const second = await start(url, drainTimeout)
    const untrue = [...ledger.untrue, ...(await findUntrue(ledger, second.origin))]
    second.child.kill('SIGTERM')
    await second.exited
    return {
      faults: ledger.faults.filter(({ at }) => at < endedAt).map(({ what }) => what),
      untrue,
      missing: [...SERVED_TO_THE_END.filter((what) => !ledger.served.has(what)), ...neverReported(ledger)],
      runs: ledger.accepted.size,
      refusals: ledger.refusals,
      served: [...ledger.served.values()].reduce((sum, count) => sum + count, 0),
      took
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The same as findings, again and again. */
export async function soakDrain(rounds: number): Promise<Finding[]> {
  const all: Drained[] = []
  for (let round = 0; round < rounds; round++)
    all.push(await drainUnderLoad({ clients: 4, stock: 50, drainTimeout: 3_000 }))
  for (const said of all.flatMap(({ faults, untrue, missing }) => [...faults, ...untrue, ...missing]))
    console.error(said)
  const sum = (of: (each: Drained) => number) => all.reduce((total, each) => total + of(each), 0)
  const scope = `${sum(({ runs }) => runs)} runs, ${sum(({ served }) => served)} requests served and ${sum(
    ({ refusals }) => refusals
  )} refused while draining`
  return [
    {
      what: `bad answers before the end (${scope})`,
      value: sum(({ faults }) => faults.length),
      limit: 0,
      unit: ''
    },
    {
      what: 'ends reported to clients that are not true',
      value: sum(({ untrue }) => untrue.length),
      limit: 0,
      unit: ''
    },
    {
      what: 'requests that were not served while draining',
      value: sum(({ missing }) => missing.length),
      limit: 0,
      unit: ''
    },
    { what: 'the longest end', value: Math.max(...all.map(({ took }) => took)) / 1_000, limit: 8, unit: 's' }
  ]
}

async function start(url: string, drainTimeout: number) {
  const args = [
    '--conditions=@svc/source',
    '--disable-warning=ExperimentalWarning',
    WORKER,
    url,
    String(drainTimeout)
  ]
  const { NODE_OPTIONS: _hooks, ...env } = process.env
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const timer = setTimeout(() => child.kill('SIGKILL'), 120_000)
  const exited = once(child, 'exit').then(() => clearTimeout(timer))
  const lines = createInterface({ input: child.stdout })
  const said = (word: string) =>
    new Promise<number>((resolve) => {
      lines.on('line', (line) => line.startsWith(`${word} `) && resolve(Number(line.slice(word.length))))
      void exited.then(() => resolve(Number.NaN))
    })
  const ended = said('ended')
  return { child, exited, ended, origin: `http://127.0.0.1:${await said('port')}` }
}

// A round without some kind of end shows less than it should.
function neverReported({ reported }: Ledger): string[] {
  const states = new Set([...reported.values()].flatMap((each) => [...each]))
  return ENDS.filter((state) => !states.has(state)).map((state) => `reported ${state}`)
}

// Compares the reported end of each run with its state; a suspended run continues once approved.
async function findUntrue(ledger: Ledger, origin: string): Promise<string[]> {
  const untrue: string[] = []
  for (const runId of new Set([...ledger.accepted, ...ledger.reported.keys()])) {
    const states = [...(ledger.reported.get(runId) ?? [])]
    const path = `/api/runs/${runId}`
    await ask({ origin }, 'POST', `/api/approvals/${runId}.1`, { approved: true })
    const stream = await ask({ origin }, 'GET', `${path}/stream`)
    const { json } = await ask({ origin }, 'GET', path)
    const isRight =
      stream.status === 200 &&
      states.every((state) => state === json.status || (state === 'suspended' && json.status === 'completed'))
    if (!isRight) untrue.push(`${runId} was ${states.join()}, and is ${JSON.stringify(json).slice(0, 300)}`)
  }
  return untrue
}
