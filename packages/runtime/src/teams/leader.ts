import type { RunInput } from '@svc/contract'
import type { RunGuard } from '../guards/run-guard.ts'
import { beginLoop, createTurn } from '../loop/begin-loop.ts'
import type { LoopPlan } from '../loop/loop-plan.ts'
import type { ModelLoop } from '../loop/model-loop.ts'
import { createToolSet, type ToolSet } from '../tools/tool-set.ts'
import type { TeamRun } from './team-run.ts'

/** The leader's turn in a run. */
export interface Leading {
  readonly begin: () => Promise<ModelLoop>
  readonly guard: RunGuard
  /** Ends the turn; discards it unless it is saved. */
  readonly close: () => void
}

/** Prepares the leader of a run for the task of its mode. */
export function leadRun(
  plan: LoopPlan,
  run: TeamRun,
  input: RunInput,
  task: string,
  tools: ToolSet = createToolSet([])
): Leading {
  const turn = createTurn(plan, run)
  return {
    begin: () => beginLoop(plan, run, turn, { input, sections: () => [task], tools: () => tools }),
    guard: run.guard,
    close: () => turn.end()
  }
}
