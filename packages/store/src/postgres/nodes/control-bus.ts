import type { ControlBus, ControlMessage, InputOutcome } from '@svc/contract'
import { createInProcessControlBus } from '@svc/registry/engine'
import { runIdOf } from '@svc/contract/stores'
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
  lease: Pick<PostgresLease, 'onRequests'>,
  readAnswer: ReadAnswer
): ControlBus {
  const local = createInProcessControlBus()
  const deliver = (message: ControlMessage) => void local.publish(message)
  const deliverCancels = (runIds: readonly string[]) => {
    for (const runId of runIds) deliver({ type: 'cancel', runId })
  }
  const deliverAnswers = (inputIds: readonly string[]) => {
    for (const inputId of inputIds) void deliverAnswer(inputId)
  }
  const deliverAnswer = async (inputId: string) => {
    // The next beat repeats it if this fails.
    const answer = await readAnswer(inputId).catch(() => undefined)
    if (answer !== undefined) deliver({ type: 'input', runId: runIdOf(inputId), inputId, answer })
  }
  channel.on('cancel', deliverCancels)
  channel.on('input', deliverAnswers)
  channel.on('steer', (ids) => ids.forEach((id) => deliver(parseSteer(id))))
  channel.on('watch', (ids) => ids.forEach((id) => deliver(parseWatch(id))))
  lease.onRequests(({ cancels, answers }) => {
    deliverCancels(cancels)
    deliverAnswers(answers)
  })
  return {
    async publish(message) {
      await local.publish(message)
      await channel.post(message.type, [toId(message)])
    },
    subscribe: (listener) => local.subscribe(listener)
  }
}

// Ids of runs, of watchers and of messages have no colons.
function toId(message: ControlMessage): string {
  if (message.type === 'input') return message.inputId
  if (message.type === 'cancel') return message.runId
  if (message.type === 'steer') return `${message.runId}:${message.steerId}`
  return `${message.runId}:${message.watcher}${message.left ? ':left' : ''}`
}

function parseSteer(id: string): ControlMessage {
  const [runId = '', steerId = ''] = id.split(':')
  return { type: 'steer', runId, steerId }
}

function parseWatch(id: string): ControlMessage {
  const [runId = '', watcher = '', left] = id.split(':')
  return { type: 'watch', runId, watcher, ...(left !== undefined && { left: true }) }
}
