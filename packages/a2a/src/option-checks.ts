import { namedEntries, requireName } from '@svc/registry'
import { A2A_ERR_BAD_OPTION } from './errors.ts'

/** The URL that an option gives. @throws A2A_ERR_BAD_OPTION when it is no absolute http or https URL, or has credentials */
export function requireHttpUrl(option: string, given: string): URL {
  // URL.parse alone would mend a missing `//` and white space, which whoever reads the option would not.
  const url = /^https?:\/\/\S+$/i.test(given) ? URL.parse(given) : null
  if (url === null) throw new A2A_ERR_BAD_OPTION(`${option}: must be an absolute http or https URL`)
  if (url.username !== '' || url.password !== '')
    throw new A2A_ERR_BAD_OPTION(`${option}: must have no user and no password`)
  return url
}

/** Makes sure that what an option gives can be on a card. @throws A2A_ERR_BAD_OPTION */
export function requireJson(option: string, given: unknown): void {
  try {
    JSON.stringify(given)
  } catch {
    throw new A2A_ERR_BAD_OPTION(`${option}: must be JSON`)
  }
}

/** Makes sure that each has a name that may name a runnable, and that no other has it. @throws A2A_ERR_BAD_OPTION */
export function requireNames(agents: readonly { readonly name: string }[]): void {
  const names = new Set<string>()
  for (const { name } of agents) {
    requireNameOption('agents', name)
    if (names.has(name)) throw new A2A_ERR_BAD_OPTION(`agents: two are named "${name}"`)
    names.add(name)
  }
}

/** The entries of a map by name. @throws A2A_ERR_BAD_OPTION */
export function requireEntries<T>(agents: Readonly<Record<string, T>>): [name: string, agent: T][] {
  return checkOption('agents', () => namedEntries(agents))
}

/** The name of a runnable that an option gives. @throws A2A_ERR_BAD_OPTION */
export function requireNameOption(option: string, name: unknown): string {
  return checkOption(option, () => requireName(name))
}

/** Runs a check of the registry; its error becomes one of this package. @throws A2A_ERR_BAD_OPTION */
export function checkOption<T>(option: string, read: () => T): T {
  try {
    return read()
  } catch (err) {
    throw new A2A_ERR_BAD_OPTION(`${option}: ${(err as Error).message}`)
  }
}
