import type { PageConfig } from '../../src/serve-page.ts'

let config: PageConfig | undefined

/** Reads what the service says about itself; before everything else. */
export async function loadConfig(): Promise<PageConfig> {
  const response = await fetch(new URL('config.json', documentUrl()))
  if (!response.ok) throw new Error(`The console cannot be configured (${response.status}).`)
  config = (await response.json()) as PageConfig
  return config
}

/** The configuration. @throws before it was loaded */
export function configOf(): PageConfig {
  if (config === undefined) throw new Error('the configuration was not loaded')
  return config
}

/** The address of a surface, ending with a slash; undefined if the service does not name it. */
export function surfaceUrl(name: keyof PageConfig['surfaces']): URL | undefined {
  const path = configOf().surfaces[name]
  return path === undefined ? undefined : new URL(path.endsWith('/') ? path : `${path}/`, documentUrl())
}

/** The address of the document without its fragment. */
function documentUrl(): string {
  return location.href.split('#')[0]!.split('?')[0]!
}
