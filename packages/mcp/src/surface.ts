import type { WireSurface } from '@svc/surface'
import type { McpSettings } from './options.ts'
import type { Subscriptions } from './subscriptions/subscriptions.ts'

/** Shared by all requests. */
export interface Surface extends WireSurface<McpSettings> {
  readonly subscriptions: Subscriptions
  /** What the server is called in its results. */
  readonly identity: object
}

/** The page where users of a client give the credentials that a run asks for, if there is one and the client opens it. */
export function credentialsPageOf(
  { settings }: Pick<Surface, 'settings'>,
  runId: string,
  opensUrls: boolean
) {
  const { credentialsUrl } = settings
  if (credentialsUrl === undefined || !opensUrls) return undefined
  return (inputId: string) => credentialsUrl({ runId, inputId })
}
