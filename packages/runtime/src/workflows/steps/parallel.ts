import type { FlowNode } from '../flow-node.ts'
import { within, type Place } from '../place.ts'
import { runConcurrently } from './run-concurrently.ts'

/** Runs several flows in parallel; returns their outputs by name. */
export async function runParallel(
  { name, flows }: Extract<FlowNode, { type: 'parallel' }>,
  place: Place
): Promise<unknown> {
  const named = Object.entries(flows)
  const outputs = await runConcurrently(
    place.signal,
    named.map(
      ([label, flow]) =>
        (signal: AbortSignal) =>
          place.run(flow, within(place, name, { signal, conversation: `${name}#${label}` }))
    )
  )
  return Object.fromEntries(named.map(([label], index) => [label, outputs[index]]))
}
