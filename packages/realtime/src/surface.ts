import type { LiveCalls, WireSurface } from '@svc/surface'
import type { Conversation } from './conversation/conversation.ts'
import type { RealtimeSettings } from './options.ts'
import type { ClientSecrets } from './secrets/client-secrets.ts'

/** Shared by all connections. */
export interface Surface extends WireSurface<RealtimeSettings> {
  readonly secrets: ClientSecrets
  readonly calls: LiveCalls
  /** The conversations of the calls in progress, by the id of their run. */
  readonly conversations: Map<string, Conversation>
}
