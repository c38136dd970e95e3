import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

/** Makes a folder the one for temporary files, so that nothing else on the machine counts as left. */
export function useTemporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'soak-'))
  process.env['TMPDIR'] = folder
  return folder
}

/** Waits until it is so, for two seconds at most. */
export async function until(isSo: () => boolean): Promise<void> {
  for (let wait = 0; wait < 2_000 && !isSo(); wait += 10) await pause(10)
}

/** Servers of this process that listen on a port. */
export function listeners(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'TCPServerWrap').length
}

/** A process, according to the kernel. */
interface Process {
  readonly pid: number
  readonly state: string
  readonly parent: number
  readonly group: number
}

/** The processes of this machine. */
export function processes(): Process[] {
  return readdirSync('/proc').flatMap((name) => {
    try {
      const stat = /^\d+$/.test(name) && readFileSync(`/proc/${name}/stat`, 'utf8')
      if (!stat) return []
      const [state = '', parent, group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      return [{ pid: Number(name), state, parent: Number(parent), group: Number(group) }]
    } catch {
      // It has ended meanwhile.
      return []
    }
  })
}
