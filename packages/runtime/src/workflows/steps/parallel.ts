import type { FlowNode } from '../flow-node.ts'
import { within, type Place } from '../place.ts'
import { allAtOnce } from './all-at-once.ts'

/** Several flows at once; gives the output of each under its name. */
export async function runParallel(
  { name, flows }: Extract<FlowNode, { type: 'parallel' }>,
  place: Place
): Promise<unknown> {
  const named = Object.entries(flows)
  const outputs = await allAtOnce(
    place.signal,
    named.map(
      ([label, flow]) =>
        (signal: AbortSignal) =>
          place.run(flow, within(place, name, { signal, apart: `${name}#${label}` }))
    )
  )
  return Object.fromEntries(named.map(([label], index) => [label, outputs[index]]))
}
