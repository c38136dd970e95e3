import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import type { Finding } from './finding.ts'

/** What came of killing workflows. */
interface Killed {
  /** Workflows that the service had taken. */
  runs: number
  /** Those of them that did not end well with the right answer and a log without a gap. */
  bad: string[]
  /** Recorded steps that were done again. */
  repeated: string[]
  /** Steps that were under way at a kill, and done again. */
  interrupted: number
}

const ANSWER = JSON.stringify(['a', { l: 'l', r: 'r' }, 'd', 'd', 'd', 'e'])
const WORKER = fileURLToPath(new URL('workflow-worker.ts', import.meta.url))

/** Kills a service that runs workflows at moments that follow from the seed, then lets one more process end them all. */
export async function killWorkflows(count: number, seed: number): Promise<Killed> {
  const folder = mkdtempSync(join(tmpdir(), 'workflow-kills-'))
  const files = { db: join(folder, 'kills.db'), effects: join(folder, 'effects') }
  const random = randomFrom(seed)
  const known: string[] = []
  const repeated: string[] = []
  let recorded = new Set<string>()
  let seen = 0
  const look = () => {
    const effects = existsSync(files.effects)
      ? readFileSync(files.effects, 'utf8').split('\n').slice(0, -1)
      : []
    repeated.push(...effects.slice(seen).filter((step) => recorded.has(step)))
    seen = effects.length
    recorded = recordedSteps(files.db)
    return effects
  }
  try {
    for (let round = 0; round < count; round++) {
      known.push(...(await work(files, Math.floor(random() * 250))))
      look()
    }
    await work(files)
    const effects = look()
    return {
      runs: known.length,
      bad: badRuns(files.db, known),
      repeated,
      interrupted: effects.length - new Set(effects).size
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The same as findings. */
export async function soakWorkflowKills(count: number): Promise<Finding[]> {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1e9)
  const { runs, bad, repeated, interrupted } = await killWorkflows(count, seed)
  for (const run of bad) console.error(run)
  const scope = `${runs} workflows, ${count} kills, ${interrupted} steps interrupted, seed ${seed}`
  return [
    { what: `workflows that did not resume (${scope})`, value: bad.length, limit: 0, unit: '' },
    { what: 'recorded steps that were done again', value: repeated.length, limit: 0, unit: '' }
  ]
}

// Until the kill; without a time for it, until everything is done. Gives the ids of the runs that were taken.
async function work({ db, effects }: { db: string; effects: string }, killAfter?: number): Promise<string[]> {
  const args = [
    '--conditions=@svc/source',
    '--disable-warning=ExperimentalWarning',
    WORKER,
    `sqlite:${db}`,
    effects
  ]
  const child = spawn(process.execPath, killAfter === undefined ? [...args, 'last'] : args, {
    stdio: ['ignore', 'pipe', 'inherit']
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), 60_000)
  const said: string[] = []
  const lines = createInterface({ input: child.stdout })
  lines.on('line', (line) => said.push(line))
  if (killAfter !== undefined) lines.once('line', () => setTimeout(() => child.kill('SIGKILL'), killAfter))
  await Promise.all([once(child, 'exit'), once(lines, 'close')])
  clearTimeout(timer)
  return said.filter((line) => line !== 'up')
}

// The steps that say when they begin, as their idempotency keys.
function recordedSteps(db: string): Set<string> {
  const database = new DatabaseSync(db)
  try {
    const rows = database.prepare('select run_id, key from run_step').all() as {
      run_id: string
      key: string
    }[]
    return new Set(
      rows
        .filter(({ key }) => key.endsWith('#output"]'))
        .map(({ run_id, key }) =>
          [run_id, ...(JSON.parse(key) as string[])].join('/').slice(0, -'#output'.length)
        )
    )
  } finally {
    database.close()
  }
}

// Those that did not end as they should, each with what there is of it.
function badRuns(db: string, known: readonly string[]): string[] {
  const database = new DatabaseSync(db)
  try {
    const rows = database.prepare('select run_id, status, epoch, result, error from run').all() as {
      run_id: string
      status: string
      result: string | null
    }[]
    const gaps = new Set(
      database
        .prepare('select run_id from run_part group by run_id having min(seq) <> 1 or max(seq) <> count(*)')
        .all()
        .map((row) => row['run_id'])
    )
    const isGood = ({ run_id, status, result }: (typeof rows)[number]) =>
      status === 'completed' && JSON.parse(result ?? '{}').text === ANSWER && !gaps.has(run_id)
    const stored = new Set(rows.map((row) => row.run_id))
    return [
      ...known.filter((runId) => !stored.has(runId)).map((runId) => `${runId} is lost`),
      ...rows
        .filter((row) => !isGood(row))
        .map((row) => JSON.stringify({ ...row, gap: gaps.has(row.run_id) }))
    ]
  } finally {
    database.close()
  }
}

// The same numbers for the same seed.
function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
