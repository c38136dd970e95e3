import { Type, type TSchema } from '@sinclair/typebox'
import { AgentOptionsSchema, type AgentOptions } from '../agents/agent-options.ts'
import { TimeoutsSchema, type Timeouts } from '../guards/run-guard.ts'
import { optional, strict } from '../loop/model-options.ts'
import type { Schema } from '../schemas/schema.ts'
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
