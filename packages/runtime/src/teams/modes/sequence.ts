import {
  MessageInputSchema,
  type RunInput,
  type Runnable,
  type RunResult,
  type YieldedPart
} from '@svc/contract'
import { awaiting, interleave, recordedAnswer } from '../../children/run-child.ts'
import { toMessageText, type TeamRun } from '../team-run.ts'

/** Each member receives the previous one's answer; the last answer is the team's. A failed member fails the run. */
export async function* sequence(run: TeamRun, input: RunInput): AsyncGenerator<YieldedPart, void> {
  let last: RunResult | undefined
  for (const member of run.plan.members) {
    const first = last === undefined
    const given = last === undefined ? input : toInput(member, last)
    const work = () => run.guard.wait(run.runMember(member, given, { answersCaller: first }))
    last = yield* interleave(awaiting(work), run.channel)
  }
  const { text, structured, finishReason } = last!
  yield* recordedAnswer(run.context.journal, { text, structured })
  yield { type: 'finish', finishReason }
}

function toInput({ inputSchema = MessageInputSchema }: Runnable, { text, structured }: RunResult): RunInput {
  return inputSchema === MessageInputSchema ? toMessageText({ text, structured }) : (structured ?? text)
}
