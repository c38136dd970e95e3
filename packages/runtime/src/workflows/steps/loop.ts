import { RUN_ERR_STEP_LOOP_LIMIT } from '../../errors.ts'
import type { FlowNode } from '../flow-node.ts'
import { within, type Place } from '../place.ts'

/** Repeats a flow. Records after each round whether it is the last. */
export async function runLoop(
  { name, flow, options: { until, maxRounds = 100 } }: Extract<FlowNode, { type: 'loop' }>,
  place: Place
): Promise<unknown> {
  let { previous } = place.view
  for (let index = 0; index < maxRounds; index++) {
    const round = within(place, name, { key: `${name}#${index}`, view: { ...place.view, previous, index } })
    previous = await place.run(flow, round)
    const view = { ...place.view, previous, index }
    if (await round.context.step('#until', () => until(view))) return previous
  }
  throw new RUN_ERR_STEP_LOOP_LIMIT(name, maxRounds)
}
