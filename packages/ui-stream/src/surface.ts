import type { WireSurface } from '@svc/surface'

/** Shared by all routes. */
export interface Surface extends WireSurface {
  /** True if messages that join a run are `steering-message` parts. */
  readonly steeringMessages: boolean
}
