import { Type } from '@sinclair/typebox'
import { NameFinder, nextTurn, type RunInput, type Runnable, type YieldedPart } from '@svc/contract'
import { awaiting, interleave } from '../../children/run-child.ts'
import { RUN_ERR_NO_ROUTE, RUN_ERR_TOOL_BAD_ARGS, toToolError } from '../../errors.ts'
import type { ModelAnswer, ModelToolCall } from '../../models/model-answer.ts'
import { CallJournal, toOutcomePart, type ToolOutcome } from '../../tool-calls/call-journal.ts'
import { defineTool } from '../../tools/define-tool.ts'
import { createToolSet, type ToolSet } from '../../tools/tool-set.ts'
import type { LoopPlan } from '../../loop/loop-plan.ts'
import { skipTools } from '../../loop/converse.ts'
import type { MemberDelivery } from '../../loop/member-delivery.ts'
import type { ModelLoop, OpenStep } from '../../loop/model-loop.ts'
import { contentOf, leadRun, listMembers, type TeamRun } from '../team-run.ts'

const ATTEMPTS = 2

/** The leader picks one member, whose answer and parts become the team's own. */
export async function* route(
  run: TeamRun,
  plan: LoopPlan,
  input: RunInput
): AsyncGenerator<YieldedPart, void> {
  const { members } = run.plan
  const task = `You lead a team and answer nothing yourself. Pick the one member that is to answer, with the tool route:
${listMembers(members)}`
  const { begin, close } = leadRun(plan, run, input, task)
  let loop: ModelLoop | undefined
  let late: (() => Promise<void>) | undefined
  try {
    loop = await begin()
    const tools = toChoice(members)
    for (let attempt = 1; attempt <= ATTEMPTS && loop.mayStep; attempt++) {
      const opened = yield* ask(loop, tools)
      const { answer } = opened.step
      if (loop.delivered?.isInterrupted) {
        yield* skipTools(loop, opened)
        await loop.save()
        yield { type: 'finish', finishReason: 'stop' }
        return
      }
      const member = pick(members, answer)
      yield* reportChoice(run, answer, member)
      if (member === undefined) {
        loop.record(
          opened,
          answer.toolCalls.map((call) => ({ call, error: NOT_PICKED, durationMs: 0 }))
        )
        continue
      }
      loop.journal?.rest()
      const delivery = loop.delivered?.handOver()
      const call = { unsourced: true, answersCaller: true, delivery }
      late = delivery && (() => saveLate(loop!, opened, delivery))
      const work = () => run.guard.wait(run.runMember(member, input, call))
      const result = yield* interleave(awaiting(work), run.channel)
      late = undefined
      const content = delivery?.isCut ? delivery.text : contentOf(result)
      loop.record(opened, toOutcomes(answer, content, result.durationMs))
      if (delivery !== undefined) loop.delivered?.takeBack(delivery)
      await loop.save()
      yield { type: 'finish', finishReason: result.finishReason, structured: result.structured }
      return
    }
  } finally {
    loop?.journal?.rest()
    await late?.()
    close()
  }
  throw new RUN_ERR_NO_ROUTE()
}

const NOT_PICKED = toToolError(new RUN_ERR_TOOL_BAD_ARGS('name exactly one member'))

function toChoice(members: readonly Runnable[]): ToolSet {
  const tool = defineTool({
    name: 'route',
    description: 'Picks the member that answers',
    input: Type.Object(
      { member: Type.Unsafe<string>({ type: 'string', enum: members.map(({ name }) => name) }) },
      { additionalProperties: false }
    ),
    execute: () => null
  })
  return createToolSet([tool])
}

// A weak model writes the name instead of calling the tool; several names are no choice.
function pick(members: readonly Runnable[], { toolCalls, text }: ModelAnswer): Runnable | undefined {
  const named =
    toolCalls.length > 0
      ? toolCalls.map(({ args }) => (args as { member?: unknown } | null)?.member)
      : new NameFinder(members.map(({ name }) => name)).find(text)
  const [wanted, another] = new Set(named)
  return another === undefined ? members.find(({ name }) => name === wanted) : undefined
}

async function* reportChoice(
  { events, context: { journal } }: TeamRun,
  { toolCalls }: ModelAnswer,
  member: Runnable | undefined
): AsyncGenerator<YieldedPart, void> {
  for (const [index, call] of toolCalls.entries()) {
    const { toolCallId, toolName, args } = call
    const outcome: ToolOutcome =
      index > 0 || member === undefined
        ? { call, error: NOT_PICKED, durationMs: 0 }
        : { call, result: { member: member.name }, durationMs: 0 }
    const calls = journal && new CallJournal(journal, true)
    if ((await calls?.recall(call)) !== undefined) {
      yield calls!.replay(outcome)
      continue
    }
    const { result, error, durationMs } = outcome
    events.emit('tool.call', () => ({ toolCallId, toolName, args }))
    if (error) events.emit('tool.error', () => ({ toolCallId, toolName, error, durationMs }))
    else events.emit('tool.result', () => ({ toolCallId, toolName, result, durationMs }))
    yield calls?.record(outcome) ?? toOutcomePart(outcome)
  }
}

// In the conversation, the member's answer is the result of the choice.
function toOutcomes(
  { toolCalls }: ModelAnswer,
  result: unknown,
  durationMs: number
): ToolOutcome<ModelToolCall>[] {
  return toolCalls.map((call, index) =>
    index === 0 ? { call, result, durationMs } : { call, error: NOT_PICKED, durationMs: 0 }
  )
}

// The run has ended while the member answered; the member ends in the same turn of the event loop.
async function saveLate(loop: ModelLoop, opened: OpenStep, delivery: MemberDelivery): Promise<void> {
  await nextTurn()
  if (delivery.text === '') return
  loop.record(opened, toOutcomes(opened.step.answer, delivery.text, 0))
  loop.delivered?.takeBack(delivery)
  await loop.delivered?.saveLate()
}

// Drops any text beside the choice.
async function* ask(loop: ModelLoop, tools: ToolSet): AsyncGenerator<YieldedPart, OpenStep, void> {
  const opened = await loop.open({ tools, toolChoice: { toolName: 'route' } })
  for (let part; (part = await opened.step.next()) !== undefined;) if (part.type !== 'text') yield part
  // It continues with a member, or with another choice.
  yield loop.end(opened, true).part
  return opened
}
