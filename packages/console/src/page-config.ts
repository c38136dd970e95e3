import type { ConsoleSettings, Surfaces } from './options.ts'

/** What the page reads at its start, from `config.json` beside it. */
export interface PageConfig {
  readonly title: string
  /** The addresses of surfaces, relative to the document: the page works behind proxies that change its path. */
  readonly surfaces: { readonly [Name in keyof Surfaces]-?: string | undefined } & { readonly http: string }
  /** Where visitors sign in, relative to the document. */
  readonly signIn?: string | undefined
}

/** What the page of a prefix has to know. */
export function describePage({ title, surfaces, signIn }: ConsoleSettings, prefix: string): PageConfig {
  const addresses = Object.entries(surfaces).map(([name, path]) => [name, relativeTo(prefix, path)])
  return {
    title,
    surfaces: Object.fromEntries(addresses) as PageConfig['surfaces'],
    ...(signIn !== undefined && { signIn: relativeTo(prefix, signIn) })
  }
}

/** The path of the app as seen from the document of a prefix, `/prefix/`. */
function relativeTo(prefix: string, path: string): string {
  const up = prefix.split('/').filter(Boolean)
  const down = path.split('/').filter(Boolean)
  let shared = 0
  while (shared < up.length && shared < down.length && up[shared] === down[shared]) shared++
  const steps = [...up.slice(shared).map(() => '..'), ...down.slice(shared)]
  // `./` keeps a first segment with a colon from being a scheme: RFC 3986, section 4.2.
  return `${steps[0] === '..' ? '' : './'}${steps.join('/')}`
}
