import { watchIdleCores } from './idle-cores.ts'
import type { PlannedProcess } from './plan-processes.ts'

/** How to run processes. */
export interface RunAllOptions {
  /** Processes at once. Twice as many while cores are idle, since some tests mostly wait. */
  jobs: number
  run(process: PlannedProcess): Promise<void>
  /** Idle cores since the last call. */
  idleCores?: () => number
  /** Milliseconds between two looks at the cores. */
  lookEvery?: number
}

/**
 * Runs all processes. One worker begins with the long files, the others with the short ones: long files are calls and races in real
 * time, which need a core.
 */
export async function runAll(
  processes: readonly PlannedProcess[],
  { jobs, run, idleCores = watchIdleCores(), lookEvery = 2_000 }: RunAllOptions
): Promise<void> {
  const left = [...processes]
  const working = new Set<Promise<void>>()
  const work = async (take: () => PlannedProcess | undefined) => {
    for (let next = take(); next !== undefined; next = take()) await run(next)
  }
  const add = (worker: Promise<void>) => {
    const ended = worker.finally(() => working.delete(ended))
    working.add(ended)
  }
  for (let index = 0; index < jobs; index++) add(work(() => (index === 0 ? left.shift() : left.pop())))
  const timer = setInterval(() => {
    // Half a core: the rest is needed by what starts.
    if (idleCores() < 0.5 || working.size >= 2 * jobs) return
    const next = left.shift()
    if (next !== undefined) add(run(next))
  }, lookEvery)
  try {
    while (working.size > 0) await Promise.race(working)
  } finally {
    clearInterval(timer)
  }
}
