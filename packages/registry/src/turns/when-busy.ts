import { RUN_ERR_WHEN_BUSY, WhenBusySchema, type Runnable, type WhenBusy } from '@svc/contract'
import type { StartOptions } from '../engine/start-options.ts'

const VALUES: readonly unknown[] = WhenBusySchema.anyOf.map((value) => value.const)

/**
 * What happens to a message while another run has the turn of its session.
 * @throws RUN_ERR_WHEN_BUSY for an unknown value, or one that cannot have an effect
 */
export function whenBusyOf(runnable: Runnable, { whenBusy, queue = runnable.queue }: StartOptions): WhenBusy {
  if (whenBusy !== undefined) {
    if (!VALUES.includes(whenBusy)) throw new RUN_ERR_WHEN_BUSY(`expected one of ${VALUES.join(', ')}`)
    if (runnable.takesTurns !== true)
      throw new RUN_ERR_WHEN_BUSY(
        `runs of the ${runnable.kind} "${runnable.name}" take no turns of a session`
      )
  }
  const value = whenBusy ?? runnable.whenBusy ?? 'queue'
  if (queue === true && value !== 'queue')
    throw new RUN_ERR_WHEN_BUSY(`"${value}" is not for runs that wait in the queue of the service`)
  return value
}
