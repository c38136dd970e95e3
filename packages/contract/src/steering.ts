import type { Static } from '@sinclair/typebox'
import type { TextContentPartSchema } from './content-part.ts'

/** A message without files. */
export type SteeringMessage = string | readonly Static<typeof TextContentPartSchema>[]

/** A message that has joined a run under way. */
export interface Steer {
  readonly steerId: string
  readonly message: SteeringMessage
}

/**
 * The messages that join a run under way. Each is in the log as `data { name: 'steer' }` when it is accepted, and a runnable that accepts any
 * must take all: a resumed run gets those of earlier processes again.
 */
export interface Steering {
  /** The number of messages taken so far. */
  readonly taken: number
  /**
   * The messages that were accepted and not taken yet, in order.
   * @param total how many are taken then, at most; default all
   */
  take(total?: number): readonly Steer[]
  /** Accepts no more messages from now on. False, and without an effect, while some are not taken. */
  close(): boolean
}
