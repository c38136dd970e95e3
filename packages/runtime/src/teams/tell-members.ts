import type { Runnable } from '@svc/registry'

/** The members, as a leader is told of them. */
export function listMembers(members: readonly Runnable[], names = members.map(({ name }) => name)): string {
  return members
    .map(({ kind, description }, index) => `- ${names[index]}: ${description ?? `a ${kind}`}`)
    .join('\n')
}

/** Names that tools may have, one for each member: providers take letters, digits, `_` and `-` only. */
export function toToolNames(members: readonly Runnable[]): string[] {
  const taken = new Set<string>()
  return members.map(({ name }) => {
    const safe = name.replace(/[^\w-]/g, '_').slice(0, 60)
    let free = safe
    for (let count = 2; taken.has(free); count++) free = `${safe}_${count}`
    taken.add(free)
    return free
  })
}
