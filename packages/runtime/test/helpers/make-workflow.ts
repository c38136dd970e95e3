import type { TSchema } from '@sinclair/typebox'
import { createMemoryStores, createRunEngine, type RunInput, type Runnable, type Stores } from '@svc/registry'
import { Workflow, type WorkflowOptions } from '@svc/runtime'

/** A workflow outside of every registry. */
export function makeWorkflow<S extends TSchema = TSchema>(
  steps: WorkflowOptions<S>['steps'],
  options: Partial<WorkflowOptions<S>> = {}
): Workflow<S> {
  return new Workflow<S>({ name: 'flow', register: false, steps, ...options })
}

/** A process that dies in the middle of a run: nothing it does later is written. */
export async function crashIn(workflow: Runnable, input: RunInput, until: () => unknown) {
  const stores = createMemoryStores()
  const engine = createRunEngine({ stores })
  const run = await engine.start(workflow, input)
  run.result().catch(() => {})
  while (!(await until())) await new Promise((resolve) => setImmediate(resolve))
  await new Promise((resolve) => setTimeout(resolve, 5))
  // Who takes the lease fences the dead one off.
  return { stores, runId: run.runId }
}

/** The next process: goes on with the run, and gives what came of it. */
export async function goOn(workflow: Runnable, stores: Stores, runId: string) {
  const engine = createRunEngine({ stores, drainTimeout: 0 })
  await engine.recover()
  const resumed = await engine.resume(workflow)
  const parts = []
  for await (const part of engine.parts(runId)) parts.push(part)
  const record = await engine.get(runId)
  await engine.close()
  return { resumed, parts, record, result: record?.result }
}
