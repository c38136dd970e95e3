import { dropOldest } from '@svc/contract'
import type { SessionState } from '../sessions/session-state.ts'
import { AudioBuffer } from './audio-buffer.ts'
import { FunctionCalls } from './function-calls.ts'
import { ItemList } from './item-list.ts'
import type { OpenAnswer, OpenResponse } from './open-response.ts'
import { Playback } from './playback.ts'

/** A user's words before their item took its place. */
export interface EarlyTranscript {
  readonly text: string
  readonly final: boolean
}

/** Speech, in milliseconds of received audio. */
interface Speech {
  readonly itemId: string
  readonly startMs: number
  readonly endMs: number | undefined
}

/** Answers whose audio may still be sent. */
const MAX_ANSWERS = 8

/** What a call looks like to its client; it outlives connections. */
export class Conversation {
  readonly session: SessionState
  readonly items = new ItemList()
  readonly calls = new FunctionCalls()
  readonly buffer = new AudioBuffer()
  /** By item id. */
  readonly transcripts = new Map<string, EarlyTranscript>()
  readonly playback = new Playback()
  /** The latest speech of the user. */
  speech: Speech | undefined
  /** True if it is not reported yet. */
  isSpeechHeld = false
  /** The call: the `runId` of its run. */
  id = ''
  /** The id of the client secret that began the call; undefined if its caller did. */
  secretId: string | undefined
  /** The response in progress. */
  response: OpenResponse | undefined
  /** Metadata that the next response repeats. */
  metadata: Readonly<Record<string, string>> | null = null
  /** The `event_id` of the latest `response.create` that has no response yet. */
  createdBy: string | null = null
  /** The position of the last output that was sent. */
  position = 0

  readonly #answers = new Map<string, OpenAnswer>()

  constructor(session: SessionState) {
    this.session = session
  }

  /** One of the latest answers: some of its audio may be sent after its response has ended. */
  answerOf(itemId: string): OpenAnswer | undefined {
    return this.#answers.get(itemId)
  }

  addAnswer(answer: OpenAnswer): void {
    this.#answers.set(answer.itemId, answer)
    dropOldest(this.#answers, MAX_ANSWERS)
  }
}
