import type { SessionState } from '../sessions/session-state.ts'
import { AudioBuffer } from './audio-buffer.ts'
import { FunctionCalls } from './function-calls.ts'
import { ItemList } from './item-list.ts'
import type { OpenResponse } from './open-response.ts'

/** A user's words before their item took its place. */
export interface EarlyTranscript {
  readonly text: string
  readonly final: boolean
}

/** What a call looks like to its client; it outlives connections. */
export class Conversation {
  readonly session: SessionState
  readonly items = new ItemList()
  readonly calls = new FunctionCalls()
  readonly buffer = new AudioBuffer()
  /** By item id. */
  readonly transcripts = new Map<string, EarlyTranscript>()
  /** Milliseconds of received audio at which the latest speech began and ended. */
  readonly speech = { startMs: 0, endMs: 0 }
  /** The call: the `runId` of its run. */
  id = ''
  /** The response in progress. */
  response: OpenResponse | undefined
  /** Metadata that the next response repeats. */
  metadata: Readonly<Record<string, string>> | null = null
  /** The position of the last output that was sent. */
  position = 0

  constructor(session: SessionState) {
    this.session = session
  }
}
