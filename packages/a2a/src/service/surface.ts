import type { Principal, ReplyKind, Runnable, TaskStore } from '@svc/contract'
import type { Policy, RunEngine } from '@svc/surface'
import type { KeyedLock } from '@svc/contract/stores'
import { A2A_ERR_NO_PUSH } from '../errors.ts'
import type { AgentCard, AgentExtension } from '../model/agent-card.ts'
import type { InlineFiles, Pushes } from '../model/requests.ts'
import type { CardSigner } from '../signatures/card-signer.ts'
import type { Agents } from './agents.ts'

/** A service: what its handlers share. */
export interface Surface {
  readonly runs: RunEngine
  readonly tasks: TaskStore
  /** Serializes messages with the same id, and messages to the same task. */
  readonly turns: KeyedLock
  readonly exposed: Agents
  /** Set if a request names an agent, as its tenant or by its path: the only one exposed. */
  readonly tenant?: string
  readonly policy: Policy
  /** Header, in lower case → the provider whose key it holds. */
  readonly providerKeyHeaders: Readonly<Record<string, string>>
  /** Undefined if push notifications are off. */
  readonly pushes: Pushes | undefined
  readonly extendCard: ExtendCard | undefined
  /** Signs cards; undefined: they are not signed. */
  readonly signer: CardSigner | undefined
  /** The extensions on the card. */
  readonly extensions: readonly AgentExtension[]
  /** The card of the service, or of one agent as a tenant. */
  buildCard(origin: string, tenant?: Runnable): AgentCard
  /** What differs at the endpoint of one agent. */
  atEndpointOf(agent: Runnable): Pick<Surface, 'buildCard' | 'fileUrl'>
  /** The absolute URL of a file. @param origin the scheme and host at which the client reaches the service */
  fileUrl(origin: string, taskId: string, fileId: string): string
  /** Milliseconds from its start in which a repeated message is the same message, also after its task has ended; 0: no message is. */
  readonly dedupeWindow: number
  /** The media types that agents take which do not say so themselves. */
  readonly inputModes: readonly string[]
  /** The media types that such agents make. */
  readonly outputModes: readonly string[]
  /** How agents reply that do not say so themselves. */
  readonly reply: ReplyKind
  /** Milliseconds until an agent that replies with messages replies with a task. */
  readonly replyTimeout: number
  /** True if the result of each tool call is an artifact. */
  readonly exposeToolResults: boolean
  /** Undefined if all files are sent by their URL. */
  readonly inline: InlineFiles | undefined
  /** Milliseconds between comments on a silent event stream. */
  readonly heartbeat: number
}

/** Makes the card for authenticated callers. */
export type ExtendCard = (card: AgentCard, principal: Principal) => Promise<AgentCard> | AgentCard

/** True if an agent replies to messages with a message alone, where it can. */
export function repliesByMessage({ reply }: Pick<Surface, 'reply'>, agent: Pick<Runnable, 'reply'>): boolean {
  return (agent.reply ?? reply) === 'message'
}

/** @throws A2A_ERR_NO_PUSH if push notifications are off */
export function requirePushes({ pushes }: Pick<Surface, 'pushes'>): Pushes {
  if (pushes === undefined) throw new A2A_ERR_NO_PUSH()
  return pushes
}
