import type { RunContext } from '@svc/registry'
import type { Emit } from '../children/part-channel.ts'
import { withSource } from '../children/with-source.ts'
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

/** The place within a block: its parts carry the block's name, its journal is the block's own, round by round. */
export function within(
  place: Place,
  name: string,
  changes: Partial<Pick<Place, 'signal' | 'view'>> & { key?: string } = {}
): Place {
  const { key, view = place.view, signal = place.signal } = changes
  return {
    ...place,
    view,
    signal,
    context: place.context.child(name, { key, signal }),
    emit: (part) => place.emit(withSource(name, part))
  }
}
