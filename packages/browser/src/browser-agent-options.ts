import { Type, type TSchema } from '@sinclair/typebox'
import { AgentOptionsSchema, optional, strict, TimeoutsSchema } from '@svc/runtime/loop'
import type { AgentOptions, Schema, Timeouts } from '@svc/runtime'
import { BROWSER_OPTIONS, BROWSER_TIMES, type BrowserOptions } from './browser-options.ts'

/** The options of a browser agent: those of an agent, and those of browser tools. Times are milliseconds. */
export interface BrowserAgentOptions<Output extends Schema = Schema>
  extends Omit<AgentOptions<Output>, 'timeout'>, Omit<BrowserOptions, 'timeout'> {
  /** Those of the agent, and of what it does to pages. */
  timeout?: Partial<Timeouts> & NonNullable<BrowserOptions['timeout']>
  /** Model calls of one run; default 30. The run then finishes with `max-steps`. */
  maxSteps?: number
}

export const BrowserAgentOptionsSchema = Type.Object(
  {
    ...AgentOptionsSchema.properties,
    ...BROWSER_OPTIONS,
    timeout: optional(Type.Object({ ...TimeoutsSchema.properties, ...BROWSER_TIMES }, strict))
  } satisfies Record<keyof BrowserAgentOptions, TSchema>,
  strict
)
