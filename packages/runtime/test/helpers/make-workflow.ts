import {
  createInProcessStores,
  createRunEngine,
  type RunEngine,
  type RunInput,
  type Runnable,
  type Stores
} from '@svc/registry'
import { Workflow, type Schema, type WorkflowOptions } from '@svc/runtime'

/** An unregistered workflow. */
export function makeWorkflow<S extends Schema = Schema>(
  steps: WorkflowOptions<S>['steps'],
  options: Partial<WorkflowOptions<S>> = {}
): Workflow<S> {
  return new Workflow<S>({ name: 'flow', register: false, steps, ...options })
}

/**
 * A process that dies in the middle of a run: once another has taken the run over, nothing it does later is written. It may
 * also die after so many `appends` to the log.
 */
export async function crashIn(
  workflow: Runnable,
  input: RunInput,
  until: () => unknown,
  { appends = Infinity }: { appends?: number } = {}
) {
  const stores = createInProcessStores()
  const { log, control, sessions } = stores
  // A dead process receives nothing, holds no locks, and reports no failed writes.
  const own = {
    ...stores,
    log: {
      ...log,
      abandon: () => {},
      append: (...entry: Parameters<typeof log.append>) =>
        appends-- > 0 ? log.append(...entry) : new Promise<never>(() => {})
    },
    control: { ...control, subscribe: () => () => {} },
    sessions: { ...sessions, lock: () => () => {} }
  }
  const engine = createRunEngine({ stores: own, drainTimeout: 0 })
  const run = await engine.start(workflow, input)
  run.result().catch(() => {})
  while (!(await until())) await new Promise((resolve) => setImmediate(resolve))
  await new Promise((resolve) => setTimeout(resolve, 5))
  // Taking the lease fences off the dead process.
  return { stores, runId: run.runId, engine }
}

/** The next process: resumes the run, and returns its result. Calls `onResumed` once resumed. */
export async function goOn(
  workflow: Runnable,
  stores: Stores,
  runId: string,
  onResumed: (engine: RunEngine) => unknown = () => {}
) {
  const engine = createRunEngine({ stores, drainTimeout: 0 })
  await engine.recover()
  const resumed = await engine.resume(workflow)
  void onResumed(engine)
  const parts = []
  for await (const part of engine.parts(runId)) parts.push(part)
  const record = await engine.get(runId)
  await engine.close()
  return { resumed, parts, record, result: record?.result }
}
