import type { WireSurface } from '@svc/surface'
import type { ToolCallsShown } from './options.ts'

/** Shared by all routes. */
export interface Surface extends WireSurface {
  readonly toolCalls: ToolCallsShown
}
