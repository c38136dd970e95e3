import type { ChangedRunQuery, InputSummary, RunStatus, RunSummary } from '@svc/contract'
import type { TaskState } from '../model/task.ts'

/** The code of a run that rejects what it was asked. */
const REJECTED = 'RUN_ERR_REJECTED'

/** The state of a run that failed. */
export function failedState(error: { readonly code: string } | null): 'failed' | 'rejected' {
  return error?.code === REJECTED ? 'rejected' : 'failed'
}

/** The state of a run that waits for these inputs: credentials come first, so that no text is taken for one. */
export function waitingState(
  inputs: Iterable<Pick<InputSummary, 'kind'>>
): 'input-required' | 'auth-required' {
  for (const { kind } of inputs) if (kind === 'auth') return 'auth-required'
  return 'input-required'
}

/** The input that a task asks for, of those that its run waits for: credentials, or else the first. */
export function firstToAnswer<I extends Pick<InputSummary, 'kind'>>(inputs: readonly I[]): I | undefined {
  return inputs.find(({ kind }) => kind === 'auth') ?? inputs[0]
}

/** The state of a run, without reading its inputs. */
export function taskStateOf({ status, error, waiting }: Pick<RunSummary, 'status' | 'error' | 'waiting'>) {
  if (status === 'failed') return failedState(error)
  return status === 'input-required' ? waitingState(waiting.inputs.first) : status
}

/** The status of a run whose task has this state. */
export function toRunStatus(state: TaskState): RunStatus {
  if (state === 'rejected') return 'failed'
  // Tasks of this service are never unknown.
  return state === 'auth-required' ? 'input-required' : (state as RunStatus)
}

/** Selects the runs whose tasks have a state. */
export function toStateQuery(state: TaskState): Pick<ChangedRunQuery, 'status' | 'errorCode' | 'inputKind'> {
  const status = toRunStatus(state)
  if (status === 'failed')
    return { status, errorCode: state === 'rejected' ? { is: REJECTED } : { isNot: REJECTED } }
  if (status === 'input-required')
    return { status, inputKind: state === 'auth-required' ? { is: 'auth' } : { isNot: 'auth' } }
  return { status }
}
