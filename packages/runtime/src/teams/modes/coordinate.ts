import { Type } from '@sinclair/typebox'
import { MAX_TIMER, toStoredError, type RunInput, type Runnable, type YieldedPart } from '@svc/contract'
import { inlineRoot } from '../../schemas/compile-schema.ts'
import { defineTool, type Tool } from '../../tools/define-tool.ts'
import { createToolSet, toToolNames } from '../../tools/tool-set.ts'
import type { LoopPlan } from '../../loop/loop-plan.ts'
import { converse } from '../../loop/converse.ts'
import { contentOf, leadRun, listMembers, type TeamRun } from '../team-run.ts'

/** The leader calls the members as its tools, and answers. */
export function coordinate(run: TeamRun, plan: LoopPlan, input: RunInput): AsyncGenerator<YieldedPart, void> {
  const { members } = run.plan
  const names = toToolNames(members.map((member) => member.name))
  const task = `You lead a team. Its members are tools that you can call, several at once where that helps:
${listMembers(members, names)}
Delegate what they do better than you. They do not see the conversation: give each of them everything it needs. Then
answer yourself, in one piece.`
  const tools = createToolSet(members.map((member, index) => toTool(run, member, names[index]!)))
  return converse({ ...leadRun(plan, run, input, task, tools), channel: run.channel })
}

const MessageSchema = Type.Object(
  {
    message: Type.String({ minLength: 1, description: 'The task, with everything the member needs to know' })
  },
  { additionalProperties: false }
)

function toTool(run: TeamRun, member: Runnable, name: string): Tool {
  const { inputSchema } = member
  // A workflow with an input schema is called with its own input.
  // As plain data: a Standard Schema would transform the input twice.
  const input = inputSchema && inlineRoot({ ...inputSchema })
  const takesObject = input?.['type'] === 'object'
  return defineTool({
    name,
    description: member.description ?? `The ${member.kind} "${member.name}"`,
    input: takesObject ? input : MessageSchema,
    // The time-out of the run bounds the member.
    timeout: MAX_TIMER,
    // It continues by its own journal.
    idempotent: member.resumable === true,
    async execute(args: unknown, { toolCallId }) {
      const given = takesObject ? args : (args as { message: string }).message
      try {
        return contentOf(await run.runMember(member, given, { key: `${member.name}#${toolCallId}` }))
      } catch (err) {
        run.guard.check()
        const { code, message } = toStoredError(err)
        throw new Error(`${member.name} failed: ${message} (${code})`, { cause: err })
      }
    }
  })
}
