import { readdir, readFile } from 'node:fs/promises'

/** The processes that this one has started, and those that they have started. */
async function descendants(root = process.pid): Promise<number[]> {
  const parents = new Map<number, number>()
  for (const name of await readdir('/proc'))
    if (/^\d+$/.test(name)) parents.set(Number(name), Number((await statOf(name))[PARENT]))
  const isBelow = (pid: number): boolean => {
    const parent = parents.get(pid)
    return parent !== undefined && (parent === root || isBelow(parent))
  }
  return [...parents.keys()].filter(isBelow)
}

/** Proportional set size of all descendants, in bytes: memory that processes share counts once. */
export async function memoryOfDescendants(): Promise<number> {
  const sizes = (await descendants()).map(async (pid) => {
    const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '')
    return Number(/^Pss:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) * 1024
  })
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}

/** CPU time of this process and all descendants so far, in milliseconds; of those that have ended, too. */
export async function cpuOfTree(): Promise<number> {
  const { user, system } = process.cpuUsage()
  const times = (await descendants()).map(async (pid) => {
    const stat = await statOf(String(pid))
    return TIMES.reduce((sum, at) => sum + Number(stat[at] ?? 0), 0) * TICK
  })
  return (await Promise.all(times)).reduce((sum, time) => sum + time, (user + system) / 1_000)
}

// Of `/proc/<pid>/stat`, counted from the state of the process; times are of the process and of its children that have ended.
const PARENT = 1
const TIMES = [11, 12, 13, 14]
// Milliseconds, on every Linux of today.
const TICK = 10

async function statOf(pid: string): Promise<string[]> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // The name of a program may contain anything, so that the fields are counted from its last parenthesis.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}
