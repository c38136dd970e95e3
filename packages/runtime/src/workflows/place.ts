import { randomUUID } from 'node:crypto'
import type { RunContext } from '@svc/contract'
import type { Emit } from '../children/part-channel.ts'
import { withSource } from '../children/child-parts.ts'
import type { RunEvents } from '../events/run-events.ts'
import type { AnyFlow, AnyView } from './flow-node.ts'

/** The position of a step in the run of a workflow. */
export interface Place {
  /** The context of the enclosing block; its journal holds the step's output. */
  readonly context: RunContext
  /** Ends the block. */
  readonly signal: AbortSignal
  /** Emits a part of the block. */
  readonly emit: Emit
  readonly events: RunEvents
  readonly view: AnyView
  /** Runs the flow of a block. */
  readonly run: (flow: AnyFlow, place: Place) => Promise<unknown>
}

/**
 * The place inside a block, whose name its parts carry. `key` separates the journals of rounds and items; `conversation`
 * separates the sessions of parallel flows, so that they neither wait for nor see each other.
 */
export function within(
  place: Place,
  name: string,
  changes: Partial<Pick<Place, 'signal' | 'view'>> & { key?: string; conversation?: string } = {}
): Place {
  const { key, conversation, view = place.view, signal = place.signal } = changes
  const sessionId = conversation && `${place.context.sessionId}/${conversation}`
  return {
    ...place,
    view,
    signal,
    context: place.context.child(name, { key, signal, sessionId }),
    emit: (part) => place.emit(withSource(name, part))
  }
}

/** True if an earlier process already started the work of `key`; the parts it emitted for that are void. */
export async function wasStartedBefore(context: RunContext, key: string): Promise<boolean> {
  const self = randomUUID()
  return (await context.step(key, () => self)) !== self
}
