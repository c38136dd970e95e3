import { Type } from '@sinclair/typebox'
import type { RunInput, Runnable, YieldedPart } from '@svc/registry'
import { MAX_TIMER, toStoredError } from '@svc/registry/kit'
import { defineTool, type Tool } from '../../tools/define-tool.ts'
import { createToolSet } from '../../tools/tool-set.ts'
import { Leader } from '../leader.ts'
import { contentOf } from '../member-answer.ts'
import type { LeaderPlan } from '../plan-team.ts'
import type { TeamRun } from '../team-run.ts'
import { listMembers, toToolNames } from '../tell-members.ts'

/** The leader delegates to the members as its tools, as often as it likes, and answers. */
export async function* coordinate(
  run: TeamRun,
  plan: LeaderPlan,
  input: RunInput
): AsyncGenerator<YieldedPart, void> {
  const { members } = run.plan
  const names = toToolNames(members)
  const task = `You lead a team. Its members are tools that you can call, several at once where that helps:
${listMembers(members, names)}
Delegate what they do better than you. They do not see the conversation: tell each of them everything that it needs. Then
answer yourself, in one piece.`
  const leader = await Leader.begin(plan, run, input, task)
  try {
    const tools = createToolSet(members.map((member, index) => toTool(run, member, names[index]!)))
    yield { type: 'finish', finishReason: yield* leader.converse(tools, run.channel) }
  } finally {
    leader.turn.end()
  }
}

const MessageSchema = Type.Object(
  { message: Type.String({ minLength: 1, description: 'What it is to do, with all that it needs to know' }) },
  { additionalProperties: false }
)

function toTool(run: TeamRun, member: Runnable, name: string): Tool {
  const { inputSchema } = member
  // A workflow with an input of its own is called with it.
  const takesObject = inputSchema !== undefined && inputSchema['type'] === 'object'
  return defineTool({
    name,
    description: member.description ?? `The ${member.kind} "${member.name}"`,
    input: takesObject ? inputSchema : MessageSchema,
    // A member's time is that of the run.
    timeout: MAX_TIMER,
    async execute(args: unknown) {
      const input = takesObject ? args : (args as { message: string }).message
      try {
        return contentOf(await run.runMember(member, input))
      } catch (err) {
        run.guard.check()
        const { code, message } = toStoredError(err)
        throw new Error(`${member.name} failed: ${message} (${code})`, { cause: err })
      }
    }
  })
}
