import { RUN_ERR_STEP_BAD_OUTPUT } from '../../errors.ts'
import type { FlowNode } from '../flow-node.ts'
import { withSource } from '../../children/child-parts.ts'
import type { Place } from '../place.ts'
import { isDeeperThan, MAX_DEPTH } from '../../json/json-faults.ts'
import { toJson } from '../../json/to-json.ts'
import { attempt } from './attempt.ts'

/** Runs a function as a step. Records its output, so that it is not called again after success. */
export function runFunction(
  { name, work, options }: Extract<FlowNode, { type: 'function' }>,
  place: Place
): Promise<unknown> {
  return place.context.step(`${name}#output`, () =>
    attempt(name, options, place, async ({ signal }, count) => {
      const context = place.context.child(name, { signal })
      const { idempotencyKey } = context
      const output = toOutput(
        name,
        await work({ ...place.view, signal, attempt: count, idempotencyKey, context })
      )
      if (typeof output === 'string' && output !== '')
        await place.emit(withSource(name, { type: 'text', text: output }))
      else if (output !== undefined && output !== null && output !== '')
        await place.emit(withSource(name, { type: 'structured', value: output }))
      return output
    })
  )
}

/** Copies an output as JSON data for the journal. @throws RUN_ERR_STEP_BAD_OUTPUT */
export function toOutput(name: string, value: unknown): unknown {
  if (value === undefined) return undefined
  const output: unknown = JSON.parse(
    toJson(value, (fault, cause) => new RUN_ERR_STEP_BAD_OUTPUT(name, fault, { cause }))
  )
  if (isDeeperThan(output, MAX_DEPTH))
    throw new RUN_ERR_STEP_BAD_OUTPUT(name, `it is nested deeper than ${MAX_DEPTH}`)
  return output
}
