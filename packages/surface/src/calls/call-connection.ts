import type { Awaitable, VoiceInput, VoiceOutput } from '@svc/contract'

/** How a call ended: its run failed, was canceled, or completed. */
export type CallEnd =
  | { readonly status: 'completed' | 'canceled' }
  | { readonly status: 'failed'; readonly error: { readonly code: string; readonly message: string } }

/** The connection of a client to its call, as a surface implements it. None of its methods throws. */
export interface CallConnection {
  /**
   * Sends an output. A returned promise resolves when the connection takes more; until then it gets no other one.
   * @param position that of the output in the call, from 1; a client resumes after it
   */
  send(output: VoiceOutput, position: number): Awaitable<void>
  /** The last message: the call has ended. */
  ended(end: CallEnd): void
  /** The last message: another connection has the call now. */
  replaced(): void
}

/** What a client sends to its call; the rest of `VoiceInput` is up to its connection. */
export type ClientInput = Exclude<VoiceInput, { type: 'away' | 'back' | 'end' }>
