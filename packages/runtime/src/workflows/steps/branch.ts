import { RUN_ERR_STEP_NO_BRANCH } from '../../errors.ts'
import type { FlowNode } from '../flow-node.ts'
import { within, type Place } from '../place.ts'

/** One of several flows. The choice is recorded: it stays the same after a restart. */
export async function runBranch(
  { name, choose, flows }: Extract<FlowNode, { type: 'branch' }>,
  place: Place
): Promise<unknown> {
  const chosen = String(await place.context.step(`${name}#choice`, () => choose(place.view)))
  if (!Object.hasOwn(flows, chosen)) throw new RUN_ERR_STEP_NO_BRANCH(name, chosen.slice(0, 128))
  return place.run(flows[chosen]!, within(place, name))
}
