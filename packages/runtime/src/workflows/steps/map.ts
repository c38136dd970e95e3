import { RUN_ERR_STEP_BAD_OUTPUT } from '../../errors.ts'
import type { FlowNode } from '../flow-node.ts'
import { within, type Place } from '../place.ts'
import { runConcurrently } from './run-concurrently.ts'

/** Runs a flow per item. Records the items, so that a restart sees the same. */
export async function runMap(
  { name, items, flow, options: { concurrency = 4 } }: Extract<FlowNode, { type: 'map' }>,
  place: Place
): Promise<unknown> {
  const list: unknown = await place.context.step(`${name}#items`, () => items(place.view))
  if (!Array.isArray(list)) throw new RUN_ERR_STEP_BAD_OUTPUT(name, 'its items are not a list')
  const work = list.map((previous: unknown, index) => (signal: AbortSignal) => {
    const view = { ...place.view, previous, index }
    const key = `${name}#${index}`
    return place.run(flow, within(place, name, { key, conversation: key, signal, view }))
  })
  return runConcurrently(place.signal, work, concurrency)
}
