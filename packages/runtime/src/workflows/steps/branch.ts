import { RUN_ERR_STEP_NO_BRANCH } from '../../errors.ts'
import type { FlowNode } from '../flow-node.ts'
import { within, type Place } from '../place.ts'

/** Runs one of several flows. Records the choice, so that a restart takes the same branch. */
export async function runBranch(
  { name, choose, flows }: Extract<FlowNode, { type: 'branch' }>,
  place: Place
): Promise<unknown> {
  const chosen = String(await place.context.step(`${name}#choice`, () => choose(place.view)))
  if (!Object.hasOwn(flows, chosen)) throw new RUN_ERR_STEP_NO_BRANCH(name, chosen.slice(0, 128))
  return place.run(flows[chosen]!, within(place, name))
}
