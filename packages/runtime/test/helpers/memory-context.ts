import type { MemoryStore } from '@svc/registry'
import type { MemoryContext } from '@svc/runtime'
import { RunEvents } from '../../src/events/events.ts'
import { makeContext } from './make-agent.ts'

/** The context in which an agent named `tester` calls its memory for `ann`; `logged` and the bus of events are its own. */
export function memoryContext(items: MemoryStore, more: Partial<MemoryContext> = {}) {
  const { context, logged } = makeContext()
  const { runId, sessionId, signal, log } = context
  const memory: MemoryContext = {
    owner: 'ann',
    namespace: 'tester',
    runId,
    sessionId,
    history: Promise.resolve([]),
    signal,
    log,
    events: new RunEvents(context, 'tester', 'agent'),
    context,
    items,
    ...more
  }
  return { memory, logged, bus: context.events }
}
