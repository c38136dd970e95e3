import type { TaskState } from '../model/task.ts'

/** The protos' names of the states, in the order of their numbers. */
export const STATES: Readonly<Record<TaskState, string>> = {
  unknown: 'TASK_STATE_UNSPECIFIED',
  submitted: 'TASK_STATE_SUBMITTED',
  working: 'TASK_STATE_WORKING',
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  canceled: 'TASK_STATE_CANCELED',
  'input-required': 'TASK_STATE_INPUT_REQUIRED',
  rejected: 'TASK_STATE_REJECTED',
  'auth-required': 'TASK_STATE_AUTH_REQUIRED'
}
const NAMES = new Map(Object.entries(STATES).map(([state, name]) => [name, state as TaskState]))

/** The state of a proto's name; undefined for an unknown name. */
export function decodeState(name: string): TaskState | undefined {
  return NAMES.get(name)
}
