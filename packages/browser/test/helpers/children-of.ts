import { readdirSync, readFileSync } from 'node:fs'

/** A descendant of a process, according to the kernel. */
export interface Child {
  pid: number
  /** `Z` is a zombie. */
  state: string
}

/** The children of a process, zombies included. */
export function childrenOf(parent: number): Child[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const [state = '', ppid] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ')
        return Number(ppid) === parent ? [{ pid: Number(pid), state }] : []
      } catch {
        return []
      }
    })
}
