import type { KeyedLock, Policy, Principal, RunEngine, Runnable, TaskStore } from '@svc/registry'
import { A2A_ERR_NO_PUSH } from '../errors.ts'
import type { AgentCard, AgentExtension } from '../model/agent-card.ts'
import type { Pushes } from '../model/push.ts'
import type { Agents } from './agents.ts'

/** What the handlers share. */
export interface Surface {
  readonly runs: RunEngine
  readonly tasks: TaskStore
  /** Of each message id, and for each task, one message is taken at a time. */
  readonly turns: KeyedLock
  readonly exposed: Agents
  /** The agent that a request names as its tenant: no other is exposed then. */
  readonly tenant?: string
  readonly policy: Policy
  /** Undefined where push notifications are off. */
  readonly pushes: Pushes | undefined
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

/** @throws A2A_ERR_NO_PUSH where push notifications are off */
export function requirePushes({ pushes }: Pick<Surface, 'pushes'>): Pushes {
  if (pushes === undefined) throw new A2A_ERR_NO_PUSH()
  return pushes
}
