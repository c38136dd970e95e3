import { namedEntries } from '@svc/surface'
import { requireName } from '@svc/contract'
import { A2A_ERR_BAD_OPTION } from './errors.ts'

/** Parses the URL of an option. @throws A2A_ERR_BAD_OPTION unless it is absolute, http or https, and without credentials */
export function requireHttpUrl(option: string, given: string): URL {
  // URL.parse alone would repair a missing `//` and white space, which other readers of the option would not.
  const url = /^https?:\/\/\S+$/i.test(given) ? URL.parse(given) : null
  if (url === null) throw new A2A_ERR_BAD_OPTION(`${option}: must be an absolute http or https URL`)
  if (url.username !== '' || url.password !== '')
    throw new A2A_ERR_BAD_OPTION(`${option}: must have no user and no password`)
  return url
}

/** Checks the URLs that a card shows; `path` is before their names. @throws A2A_ERR_BAD_OPTION */
export function requireCardUrls(
  urls: { documentationUrl?: string | undefined; iconUrl?: string | undefined },
  path = ''
): void {
  for (const name of ['documentationUrl', 'iconUrl'] as const) {
    const url = urls[name]
    if (url !== undefined) requireHttpUrl(path + name, url)
  }
}

/** Checks that security requirements name known schemes; `path` is before their name. @throws A2A_ERR_BAD_OPTION */
export function requireSchemes(
  security: readonly Readonly<Record<string, unknown>>[] | undefined,
  schemes: Readonly<Record<string, unknown>> | undefined,
  path = ''
): void {
  const known = Object.keys(schemes ?? {})
  for (const [index, required] of (security ?? []).entries())
    for (const name of Object.keys(required))
      if (!known.includes(name))
        throw new A2A_ERR_BAD_OPTION(
          `${path}security/${index}: no security scheme "${name}"; known: ${known.join(', ') || 'none'}`
        )
}

/** Checks the URLs of interfaces; `path` is before their name. @throws A2A_ERR_BAD_OPTION */
export function requireInterfaces(
  interfaces: readonly { readonly url: string; readonly protocolBinding: string }[] | undefined,
  path = ''
): void {
  // An interface of gRPC has `host:port`.
  for (const [index, { url, protocolBinding }] of (interfaces ?? []).entries())
    if (protocolBinding !== 'GRPC') requireHttpUrl(`${path}additionalInterfaces/${index}/url`, url)
}

/** Checks that the value of an option is JSON, for the card. @throws A2A_ERR_BAD_OPTION */
export function requireJson(option: string, given: unknown): void {
  try {
    JSON.stringify(given)
  } catch {
    throw new A2A_ERR_BAD_OPTION(`${option}: must be JSON`)
  }
}

/** Checks that names are valid and unique. @throws A2A_ERR_BAD_OPTION */
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

/** Checks the name of a runnable. @throws A2A_ERR_BAD_OPTION */
export function requireNameOption(option: string, name: unknown): string {
  return checkOption(option, () => requireName(name))
}

/** Runs a check of the registry and rethrows its error as one of this package. @throws A2A_ERR_BAD_OPTION */
export function checkOption<T>(option: string, read: () => T): T {
  try {
    return read()
  } catch (err) {
    throw new A2A_ERR_BAD_OPTION(`${option}: ${(err as Error).message}`)
  }
}
