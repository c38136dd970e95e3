import { readdir, readFile } from 'node:fs/promises'

/** The processes that this one has started, and those that they have started. */
async function descendants(root = process.pid): Promise<number[]> {
  const parents = new Map<number, number>()
  for (const name of await readdir('/proc'))
    if (/^\d+$/.test(name)) parents.set(Number(name), await parentOf(name))
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

async function parentOf(pid: string): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // The name of a program may contain anything, so that the fields are counted from its last parenthesis.
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] ?? 0)
}
