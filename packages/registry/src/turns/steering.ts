import { type PartOf, type Steer, type Steering, type SteeringMessage } from '@svc/contract'
import { RUN_ERR_STORE } from '@svc/contract/errors'
import type { PartWriter } from '../engine/log/part-writer.ts'

/** The messages that have joined a run, in the order of its log. */
export class SteeringInbox implements Steering {
  readonly #accepted: Steer[]
  #taken = 0
  #isClosed = false

  /** @param earlier those that the log of an earlier process has */
  constructor(earlier: readonly Steer[] = []) {
    this.#accepted = [...earlier]
  }

  get taken(): number {
    return this.#taken
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  has(steerId: string): boolean {
    return this.#accepted.some((steer) => steer.steerId === steerId)
  }

  accept(steer: Steer): void {
    this.#accepted.push(steer)
  }

  take(total = Infinity): readonly Steer[] {
    const taken = this.#accepted.slice(this.#taken, total)
    this.#taken += taken.length
    return taken
  }

  close(): boolean {
    if (this.#taken < this.#accepted.length) return false
    return (this.#isClosed = true)
  }
}

/** The parts of a run that messages can join. */
export interface SteeredRun {
  readonly writer: PartWriter
  /** Why its log could not be written, if so. */
  readonly loss: unknown
  readonly inbox: SteeringInbox | undefined
  /** Resolves when the run has begun or ended. */
  untilBegun(): Promise<void>
  /** @throws the reason of the end if the run has ended */
  requireOpen(): void
}

/**
 * Has a message join a run of this process; resolves when it is in the log. False if the run takes no more messages.
 * @throws RUN_ERR_STORE
 */
export async function steerRun(run: SteeredRun, steer: Steer): Promise<boolean> {
  await run.untilBegun()
  const { inbox, writer } = run
  if (inbox?.has(steer.steerId) !== true) {
    try {
      run.requireOpen()
      if (inbox === undefined || inbox.isClosed) return false
      writer.write(toSteerPart(steer))
    } catch {
      // The run has ended, or its log is full.
      return false
    }
    inbox.accept(steer)
  }
  await writer.idle()
  if (run.loss !== undefined) throw new RUN_ERR_STORE({ cause: run.loss })
  return true
}

function toSteerPart({ steerId, message }: Steer): PartOf<'data'> {
  return { type: 'data', name: 'steer', value: { steerId, message } }
}

/** The message that a part of a log has, if it is one that joined the run. */
export function steerOf(part: { readonly type: string }): Steer | undefined {
  const { type, name, value, source } = part as PartOf<'data'>
  if (type !== 'data' || name !== 'steer' || source?.length) return undefined
  const { steerId, message } = (value ?? {}) as Partial<Steer>
  const isWhole = typeof steerId === 'string' && (typeof message === 'string' || Array.isArray(message))
  return isWhole ? { steerId, message: message as SteeringMessage } : undefined
}
