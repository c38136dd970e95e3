import type { ClientEvent } from '../events/client-events.ts'
import { answerApproval } from './approval.ts'
import { cancelRun } from './cancel.ts'
import type { Handler } from './handler.ts'
import { createRunHandler } from './run.ts'
import { watchRun } from './watch.ts'

/** Who does what each event asks for. */
export const HANDLERS: ReadonlyMap<string, Handler<never>> = new Map<ClientEvent, Handler<never>>([
  ['agent.run', createRunHandler('agent')],
  ['team.run', createRunHandler('team')],
  ['workflow.run', createRunHandler('workflow')],
  ['run.cancel', cancelRun],
  ['run.watch', watchRun],
  ['approval.answer', answerApproval]
])
