import type { RunContext } from '@svc/registry'
import { RUN_ERR_BAD_CONTEXT } from './errors.ts'

/** Makes sure, by one look, that a run was given a whole context. @throws RUN_ERR_BAD_CONTEXT */
export function requireContext(context: RunContext): void {
  if (typeof context?.child !== 'function') throw new RUN_ERR_BAD_CONTEXT()
}
