import type { Principal } from './principal.ts'

/**
 * Whether the scopes held grant the one wanted. `*` and `admin:*` grant everything, `agents:*` all that begins
 * with `agents:`; every other scope grants itself alone.
 */
export function grantsScope(held: readonly string[], wanted: string): boolean {
  if (held.includes(wanted) || isAdmin(held)) return true
  const colon = wanted.indexOf(':')
  return colon > 0 && held.includes(`${wanted.slice(0, colon)}:*`)
}

/** Whether a principal may see and control what belongs to `owner`: its own, or everyone's with `*` or `admin:*`. */
export function reachesOwner({ sub, scopes }: Principal, owner: string): boolean {
  return sub === owner || isAdmin(scopes)
}

/** Whether the scopes held grant everything. */
export function isAdmin(held: readonly string[]): boolean {
  return held.includes('*') || held.includes('admin:*')
}

/** The first of the scopes wanted that is not granted. All of them are needed. */
export function findMissingScope(held: readonly string[], wanted: readonly string[]): string | undefined {
  return wanted.find((scope) => !grantsScope(held, scope))
}
