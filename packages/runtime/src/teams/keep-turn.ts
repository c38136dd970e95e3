import type { AcceptedMessage, RunInput, YieldedPart } from '@svc/registry'
import { createTurn } from '../loop/begin-loop.ts'
import { loadFiles } from '../sessions/load-files.ts'
import { toMessageText } from './members.ts'
import type { TeamRun } from './team-run.ts'

/**
 * The turn of a team without a leader: its session keeps what the team was asked, and its answer. A run that fails saves nothing.
 * @throws RUN_ERR_STORE
 */
export async function* keepTurn(
  run: TeamRun,
  input: RunInput,
  parts: AsyncGenerator<YieldedPart, void>
): AsyncGenerator<YieldedPart, void> {
  const turn = createTurn(run.plan, run)
  const answer = { text: '', structured: null as unknown }
  try {
    await turn.lock()
    if (input !== undefined) await turn.ask(await loadFiles(input as AcceptedMessage))
    for await (const part of parts) {
      // Parts of members have a source.
      if (part.source === undefined) {
        if (part.type === 'text') answer.text += part.text
        else if (part.type === 'structured') answer.structured = part.value
        else if (part.type === 'finish') {
          turn.addText(toMessageText(answer))
          await turn.save(run.context)
        }
      }
      yield part
    }
  } finally {
    turn.end()
  }
}
