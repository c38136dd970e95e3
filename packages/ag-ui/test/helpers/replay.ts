import * as client from '@ag-ui/client'
import * as clientOfCopilotKit from '@ag-ui/client-of-copilotkit'
import { encodeEvents } from '@svc/surface'
import type { AgUiEvent } from '../../src/wire/events.ts'

/** The clients: that of version 1.0, and the last one before it, which CopilotKit and assistant-ui use. */
export const CLIENTS = { current: client, 'of CopilotKit': clientOfCopilotKit as unknown as typeof client }
export type ClientName = keyof typeof CLIENTS

/** Plays events to an unmodified client, which checks and applies them, and returns its messages and state. @throws what it throws */
export async function replay(
  name: ClientName,
  events: readonly AgUiEvent[],
  messages: client.Message[] = []
) {
  const { HttpAgent } = CLIENTS[name]
  const stream = async () =>
    new Response(encodeEvents(events), { headers: { 'content-type': 'text/event-stream; charset=utf-8' } })
  const agent = new HttpAgent({
    url: 'http://localhost',
    fetch: stream,
    threadId: 's',
    initialMessages: messages
  })
  const ends: client.BaseEvent[] = []
  const { result } = await agent.runAgent(
    {},
    {
      onRunFinishedEvent: ({ event }) => void ends.push(event),
      onRunErrorEvent: ({ event }) => void ends.push(event)
    }
  )
  return {
    messages: agent.messages,
    state: agent.state as unknown,
    pending: agent.pendingInterrupts,
    result,
    ends
  }
}
