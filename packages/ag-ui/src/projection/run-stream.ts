import type { PartOf } from '@svc/contract'
import { RUN_ERR_SUSPENDED } from '@svc/contract/errors'
import { encodeEvents, EventStream } from '@svc/surface'
import type { AgUiEvent } from '../wire/events.ts'
import { toDataEvent } from './content-events.ts'

/** The log of a run as a stream of AG-UI, which ends where the run ends or waits. */
export class RunStream extends EventStream<AgUiEvent> {
  // A stream that ended in order, the client would take for a whole one; one that breaks off ends a client on Node.js.
  encodeSuspended(): string {
    const { message, code } = new RUN_ERR_SUSPENDED()
    return encodeEvents([{ type: 'RUN_ERROR', message, code, metadata: { retryable: true } }])
  }

  encodeTransient({ part }: { part: PartOf<'data'> }): string {
    return this.events.run.start !== undefined ? encodeEvents([toDataEvent(part, {})]) : ''
  }
}
