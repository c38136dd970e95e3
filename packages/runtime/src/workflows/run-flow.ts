import type { AnyFlow, FlowNode } from './flow-node.ts'
import type { Place } from './place.ts'
import { runBranch } from './steps/branch.ts'
import { runFunction } from './steps/function-step.ts'
import { runLoop } from './steps/loop.ts'
import { runMap } from './steps/map.ts'
import { runParallel } from './steps/parallel.ts'
import { runRunnable } from './steps/runnable-step.ts'
import { runWait } from './steps/wait.ts'

type RunNode<N extends FlowNode> = (node: N, place: Place) => Promise<unknown>

const STEPS: { readonly [T in FlowNode['type']]: RunNode<Extract<FlowNode, { type: T }>> } = {
  function: runFunction,
  runnable: runRunnable,
  parallel: runParallel,
  branch: runBranch,
  loop: runLoop,
  map: runMap,
  wait: runWait
}

/** Runs the steps of a flow in sequence; returns the output of the last. */
export async function runFlow(flow: AnyFlow, place: Place): Promise<unknown> {
  let { view } = place
  for (const node of flow.nodes) {
    place.signal.throwIfAborted()
    const run = STEPS[node.type] as RunNode<FlowNode>
    const output = await run(node, { ...place, view })
    const steps = { ...view.steps, [node.name]: output }
    view = { ...view, steps, previous: node.type === 'wait' ? view.previous : output }
  }
  return view.previous
}
