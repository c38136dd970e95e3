import { Agent, type Model } from '@svc/runtime'
import { deliver } from '../tools/deliver.ts'

const INSTRUCTIONS = `You deliver parcels, numbered from 1, with the tool deliver: one after the other, never two at once.
When all are delivered, list when each of them was.`

/** An agent with enough to do to be killed in the middle of it. */
export function createCourier(model: Model): Agent {
  return new Agent({
    name: 'courier',
    description: 'Delivers parcels, one a second. It continues after a kill -9.',
    instructions: INSTRUCTIONS,
    model,
    tools: [deliver],
    maxSteps: 30,
    replace: true
  })
}
