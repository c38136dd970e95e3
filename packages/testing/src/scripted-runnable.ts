import type { RunContext, RunInput, Runnable, RunnableKind, YieldedPart } from '@svc/contract'
import { defineRunnable } from '@svc/registry'

/** One act of a scripted runnable: a part to yield, milliseconds to wait, or a function of the context. */
export type ScriptedAct = YieldedPart | number | ((context: RunContext, input: RunInput) => unknown)

/** Options of a scripted runnable. */
export interface ScriptedRunnableOptions {
  kind?: RunnableKind
  name?: string
  description?: string
}

/** Creates a runnable that plays a script; waits end with the run's signal, and errors of acts fail the run. */
export function scriptedRunnable(
  script: readonly ScriptedAct[],
  options: ScriptedRunnableOptions = {}
): Runnable {
  const { kind = 'agent', name = 'scripted', description } = options
  return defineRunnable({
    kind,
    name,
    description,
    async *stream(input, context) {
      for (const act of script) {
        if (typeof act === 'number') await pause(act, context.signal)
        else if (typeof act === 'function') await act(context, input)
        else yield act
      }
    }
  })
}

/**
 * Creates a workflow named `flow` that any process can resume: each step writes what `act` returns and a semicolon. A recorded step
 * does neither again.
 */
export function steppedRunnable(
  steps: readonly string[],
  act: (step: string, context: RunContext) => unknown
): Runnable {
  return defineRunnable({
    kind: 'workflow',
    name: 'flow',
    resumable: true,
    async *stream(_input, context) {
      for (const step of steps) {
        let text = ''
        await context.step(step, async () => void (text = `${String(await act(step, context))};`))
        if (text !== '') yield { type: 'text', text }
      }
    }
  })
}

/** Waits for `ms` milliseconds, or until the signal aborts. @throws the signal's reason */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal.reason as Error)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, ms)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}
