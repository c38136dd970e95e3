import { RUN_ERR_STEP_BAD_OUTPUT } from '../../errors.ts'
import type { FlowNode } from '../flow-node.ts'
import { withSource } from '../../children/with-source.ts'
import type { Place } from '../place.ts'
import { attempt } from './attempt.ts'

/** A step that is a function. Its output is recorded: it is not called again once it has succeeded. */
export function runFunction(
  { name, work, options }: Extract<FlowNode, { type: 'function' }>,
  place: Place
): Promise<unknown> {
  return place.context.step(`${name}#output`, () =>
    attempt(name, options, place, async ({ signal }, count) => {
      const context = place.context.child(name, { signal })
      const { idempotencyKey } = context
      const output = toJson(
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

function toJson(name: string, value: unknown): unknown {
  try {
    const json = JSON.stringify(value) as string | undefined
    if (json !== undefined) return JSON.parse(json)
    if (value === undefined) return undefined
  } catch (err) {
    throw new RUN_ERR_STEP_BAD_OUTPUT(name, 'it has no JSON', { cause: err })
  }
  throw new RUN_ERR_STEP_BAD_OUTPUT(name, `it is a ${typeof value}`)
}
