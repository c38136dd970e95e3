import { readFileSync } from 'node:fs'
import { processes } from '../leftovers.ts'

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

/** The browsers that this process started: each is a group of processes. */
export function browserGroups(): number[] {
  return processes()
    .filter(({ pid, parent }) => parent === process.pid && commandOf(pid).includes('--remote-debugging-pipe'))
    .map(({ pid }) => pid)
}

/** The living processes of groups. */
export function livingOf(groups: Iterable<number>): number[] {
  const all = new Set(groups)
  return processes()
    .filter(({ group, state }) => all.has(group) && state !== 'Z')
    .map(({ pid }) => pid)
}

/** Kills all browsers. */
export function killBrowsers(): void {
  for (const group of browserGroups()) kill(-group)
}

/** Kills the process of one of the pages that are open; false if there is none. */
export function killPage(choose: <T>(of: readonly T[]) => T): boolean {
  const pages = livingOf(browserGroups()).filter((pid) => commandOf(pid).includes('--type=renderer'))
  if (pages.length > 0) kill(choose(pages))
  return pages.length > 0
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended meanwhile.
  }
}
