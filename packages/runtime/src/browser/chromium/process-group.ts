import { readdir, readFile } from 'node:fs/promises'

/**
 * True if a process of a group lives. Zombies do not: they stay for good where no process reaps orphans, e.g. in a container without an
 * init. A system without `/proc` does not show them; there the answer is always true.
 */
export async function hasLiving(group: number): Promise<boolean> {
  const names = await readdir('/proc').catch(() => undefined)
  if (names === undefined) return true
  const members = await Promise.all(names.filter((name) => /^\d+$/.test(name)).map((pid) => readMember(pid)))
  return members.some((member) => member?.group === group && member.state !== 'Z')
}

// Undefined if it has ended meanwhile.
async function readMember(pid: string): Promise<{ state: string; group: number } | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  // The name of the program, in parentheses, may contain anything.
  const [state, , group] = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? []
  return state === undefined ? undefined : { state, group: Number(group) }
}
