import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { childrenOf } from './children-of.ts'

/** The living processes of a group, according to the kernel. */
export function groupOf(pgid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const [state, , group] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ')
        return Number(group) === pgid && state !== 'Z' ? [Number(pid)] : []
      } catch {
        return []
      }
    })
}

/** The browsers that this process has started, and that live. */
export function browserPids(parent = process.pid): number[] {
  return childrenOf(parent).flatMap(({ pid, state }) => {
    if (state === 'Z') return []
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
    return command.includes('--remote-debugging-pipe') ? [pid] : []
  })
}

/** The processes of all pages of the browsers that this process has started. */
export function pagePids(): number[] {
  const isPage = (pid: number) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('--type=renderer')
  return browserPids().flatMap(groupOf).filter(isPage)
}

/** Kills the processes of all pages of the browsers that this process has started. */
export function killPages(): void {
  for (const pid of pagePids()) process.kill(pid, 'SIGKILL')
}

/** Gives this process a temporary folder of its own, and returns what lists it. */
export function useTemporaryFolder(t: { teardown(remove: () => unknown): void }): () => string[] {
  const folder = mkdtempSync(join(tmpdir(), 'own-'))
  process.env['TMPDIR'] = folder
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return () => readdirSync(folder)
}

/** Resolves once the system is in the wanted state, which it reports by no event. The test's time-out bounds it. */
export async function until(isReached: () => boolean): Promise<void> {
  while (!isReached()) await pause(10)
}
