import { codeOf, type RunInput, type Runnable } from '@svc/contract'
import type { Run, RunEngine } from '@svc/registry'

type StartOptions = NonNullable<Parameters<RunEngine['start']>[2]>

/**
 * Starts a run for a message of a conversation. It waits while another run of its session works, and is refused where that run waits for
 * the client itself, which would wait in vain; unless the caller or the runnable says what happens (`whenBusy`).
 * @param Waits the refusal
 * @throws Waits, and the errors of `RunEngine.start`
 */
export async function startUnlessWaiting(
  runs: Pick<RunEngine, 'start' | 'find' | 'stores'>,
  runnable: Runnable,
  input: RunInput,
  options: StartOptions,
  Waits: new () => Error
): Promise<Run> {
  const { takesTurns, queue } = runnable
  const isChosen = (options.whenBusy ?? runnable.whenBusy) !== undefined
  const canRefuse = takesTurns === true && queue !== true && runs.stores.sessions.place !== undefined
  if (isChosen || !canRefuse) return runs.start(runnable, input, options)
  try {
    return await runs.start(runnable, input, { ...options, whenBusy: 'reject' })
  } catch (err) {
    if (codeOf(err) !== 'RUN_ERR_SESSION_BUSY') throw err
    const { runId } = err as { runId?: string }
    const active = runId === undefined ? undefined : await runs.find(runId)
    if (active?.status === 'input-required') throw new Waits()
    return runs.start(runnable, input, { ...options, whenBusy: 'queue' })
  }
}
