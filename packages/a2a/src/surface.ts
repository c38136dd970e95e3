import type { Authorize, KeyedLock, Principal, RunEngine, RunLog, Runnable, TaskStore } from '@svc/registry'
import type { Agents } from './agents.ts'
import type { AgentCard, AgentExtension, ProtocolVersion } from './model/agent-card.ts'
import type { PushService } from './push/push-service.ts'

/** What the handlers share. */
export interface Surface {
  readonly runs: RunEngine
  readonly tasks: TaskStore
  /** Of each message id, and for each task, one message is taken at a time. */
  readonly turns: KeyedLock
  readonly exposed: Agents
  /** The agent that a request names as its tenant: no other is exposed then. */
  readonly tenant?: string
  readonly policy: { readonly authorize: Authorize }
  /** Undefined where push notifications are off. */
  readonly push: PushService | undefined
  readonly extendCard: ExtendCard | undefined
  /** As the card declares them. */
  readonly extensions: readonly AgentExtension[]
  /** Of the service, or of one of its agents as a tenant. */
  buildCard(origin: string, tenant?: Runnable): AgentCard
  /** Milliseconds between comments on a silent event stream. */
  readonly heartbeat: number
}

/** Makes the card for those who have shown who they are. */
export type ExtendCard = (card: AgentCard, principal: Principal) => Promise<AgentCard> | AgentCard

/** Who asks, and how. */
export interface Call {
  readonly principal: Principal
  readonly log: RunLog
  readonly version: ProtocolVersion
  /** URIs of the extensions that are in use. */
  readonly extensions: readonly string[]
  /** Scheme and host that the client asked for. */
  readonly origin: string
}
