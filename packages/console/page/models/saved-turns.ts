import type { SessionMessage } from '@svc/contract'

/** What was said in one run, as the session keeps it. */
export interface SavedTurn {
  readonly runId: string
  readonly messages: readonly SessionMessage[]
}

/** The messages of a session by their turns; those of a turn follow each other. */
export function toTurns(messages: readonly { runId: string; message: SessionMessage }[]): SavedTurn[] {
  const turns: { runId: string; messages: SessionMessage[] }[] = []
  for (const { runId, message } of messages) {
    const last = turns.at(-1)
    if (last?.runId === runId) last.messages.push(message)
    else turns.push({ runId, messages: [message] })
  }
  return turns
}
