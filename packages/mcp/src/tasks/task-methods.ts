import { fromJsonSchema, type Server, type ServerContext } from '@modelcontextprotocol/server'
import type { RunSummary } from '@svc/registry'
import { codeOf, requireAllowed, requireRun } from '@svc/registry/kit'
import { answerElicitations } from '../inputs/answer-elicitations.ts'
import type { Caller } from '../server/caller.ts'
import { capabilitiesOf, requireTasks, toElicits } from '../server/caller.ts'
import { toProtocolError } from '../server/to-protocol-error.ts'
import type { Surface } from '../surface.ts'
import { toDetailedTask } from './task.ts'

interface TaskParams {
  readonly taskId: string
}

const taskId = { type: 'string' } as const
const TaskParamsSchema = fromJsonSchema<TaskParams>({
  type: 'object',
  properties: { taskId },
  required: ['taskId']
})

/** Adds the methods of the extension for tasks: a task is a run, its id that of the run. */
export function addTaskMethods(server: Server, surface: Surface, { principal, log }: Caller): void {
  const add = (method: string, work: (run: RunSummary, ctx: ServerContext) => Promise<object>) =>
    server.setRequestHandler(method, { params: TaskParamsSchema }, async ({ taskId: runId }, ctx) => {
      requireTasks(capabilitiesOf(ctx))
      try {
        return { ...(await work(await requireRun(surface, runId, principal), ctx)) }
      } catch (err) {
        throw toProtocolError(err, log)
      }
    })

  add('tasks/get', (run, ctx) => toDetailedTask(surface, run, toElicits(capabilitiesOf(ctx).elicitation).url))
  add('tasks/update', async ({ runId }, { mcpReq }) => {
    // The official server takes them out of the parameters.
    await answerElicitations(surface, principal, runId, mcpReq.inputResponses ?? {})
    return {}
  })
  add('tasks/cancel', async ({ runId, kind, name }) => {
    await requireAllowed(surface, principal, 'run', { kind, name })
    await surface.runs.cancel(runId).catch((err: unknown) => {
      if (codeOf(err) !== 'RUN_ERR_TERMINAL') throw err
    })
    return {}
  })
}
