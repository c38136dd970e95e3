import type { ControlBus, ControlMessage, InputOutcome } from '@svc/registry'
import { createInProcessControlBus, runIdOf } from '@svc/registry/store-kit'
import type { NodeChannel } from './node-channel.ts'
import type { PostgresLease } from './node-lease.ts'

/** Reads the answer to an input; undefined if there is none. */
export type ReadAnswer = (inputId: string) => Promise<InputOutcome | undefined>

/**
 * Control messages between nodes: a notification has only ids, and answers are read from the store. The beat of the lease repeats cancels
 * and answers whose notification was lost.
 */
export function createSharedControlBus(
  channel: NodeChannel,
  lease: Pick<PostgresLease, 'onWishes'>,
  readAnswer: ReadAnswer
): ControlBus {
  const local = createInProcessControlBus()
  const deliver = (message: ControlMessage) => void local.publish(message)
  const deliverEach = (type: 'cancel' | 'keep') => (runIds: readonly string[]) => {
    for (const runId of runIds) deliver({ type, runId })
  }
  const deliverAnswers = (inputIds: readonly string[]) => {
    for (const inputId of inputIds) void deliverAnswer(inputId)
  }
  const deliverAnswer = async (inputId: string) => {
    // The next beat repeats it if this fails.
    const answer = await readAnswer(inputId).catch(() => undefined)
    if (answer !== undefined) deliver({ type: 'input', runId: runIdOf(inputId), inputId, answer })
  }
  channel.on('cancel', deliverEach('cancel'))
  channel.on('keep', deliverEach('keep'))
  channel.on('input', deliverAnswers)
  lease.onWishes(({ cancels, answers }) => {
    deliverEach('cancel')(cancels)
    deliverAnswers(answers)
  })
  return {
    async publish(message) {
      await local.publish(message)
      await channel.post(message.type, [message.type === 'input' ? message.inputId : message.runId])
    },
    subscribe: (listener) => local.subscribe(listener)
  }
}
