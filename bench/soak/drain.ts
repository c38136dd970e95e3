import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { ask, ENDS, Ledger } from './drain-clients.ts'
import { GOES_ON, load, seed } from './drain-load.ts'
import type { Finding } from './finding.ts'

/** How much is done to the service. */
interface DrainLoad {
  /** Clients of each kind. */
  clients: number
  /** Runs of each kind that are there when the service is told to end. */
  stock: number
  /** Milliseconds. */
  drainTimeout: number
}

/** What came of draining under load. */
interface Drained {
  /** Answers that were not as they should be before the last run had ended. */
  faults: string[]
  /** What clients were told of runs, and is not so after the restart. */
  untrue: string[]
  /** What was not served, though it goes on, and ends that nobody was told of. */
  missing: string[]
  runs: number
  refusals: number
  served: number
  /** Milliseconds from the signal to the exit of the process. */
  took: number
}

const WORKER = fileURLToPath(new URL('drain-worker.ts', import.meta.url))

/** Ends a service that is used over HTTP, sockets and A2A, starts it again, and compares what its clients were told. */
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
      missing: [...GOES_ON.filter((what) => !ledger.served.has(what)), ...neverTold(ledger)],
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
  const told = `${sum(({ runs }) => runs)} runs, ${sum(({ served }) => served)} requests served and ${sum(
    ({ refusals }) => refusals
  )} refused while draining`
  return [
    {
      what: `bad answers before the end (${told})`,
      value: sum(({ faults }) => faults.length),
      limit: 0,
      unit: ''
    },
    {
      what: 'states that clients were told, and are not so',
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

// A round in which nobody is told of some end shows less than it should.
function neverTold({ told }: Ledger): string[] {
  const states = new Set([...told.values()].flatMap((each) => [...each]))
  return ENDS.filter((state) => !states.has(state)).map((state) => `told ${state}`)
}

// What was told of each run, beside what it is; what was suspended goes on, when it is approved.
async function findUntrue(ledger: Ledger, origin: string): Promise<string[]> {
  const untrue: string[] = []
  for (const runId of new Set([...ledger.accepted, ...ledger.told.keys()])) {
    const states = [...(ledger.told.get(runId) ?? [])]
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
