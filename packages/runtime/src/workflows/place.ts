import type { RunContext } from '@svc/registry'
import type { Emit } from '../children/part-channel.ts'
import { withSource } from '../children/child-parts.ts'
import type { RunEvents } from '../events/run-events.ts'
import type { AnyFlow, AnyView } from './flow-node.ts'

/** Where in a run of a workflow a step is. */
export interface Place {
  /** Of the block around the step; its journal holds the step's output. */
  readonly context: RunContext
  /** Ends the block. */
  readonly signal: AbortSignal
  /** Tells a part of the block. */
  readonly emit: Emit
  readonly events: RunEvents
  readonly view: AnyView
  /** Runs the flow of a block. */
  readonly run: (flow: AnyFlow, place: Place) => Promise<unknown>
}

/**
 * The place within a block: its parts carry the block's name, its journal is the block's own, round by round. What runs at
 * once is `apart`: it has conversations of its own, so that it need not wait and does not overhear.
 */
export function within(
  place: Place,
  name: string,
  changes: Partial<Pick<Place, 'signal' | 'view'>> & { key?: string; apart?: string } = {}
): Place {
  const { key, apart, view = place.view, signal = place.signal } = changes
  const sessionId = apart && `${place.context.sessionId}/${apart}`
  return {
    ...place,
    view,
    signal,
    context: place.context.child(name, { key, signal, sessionId }),
    emit: (part) => place.emit(withSource(name, part))
  }
}
