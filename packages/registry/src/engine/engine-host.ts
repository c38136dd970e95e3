import type { InterruptedRuns } from '../recovery/interrupted-runs.ts'
import type { LostRuns } from '../recovery/left-runs.ts'
import type { ResumeHost } from '../recovery/resume-run.ts'
import type { RunEngine } from './run-engine.ts'

/** The engine as its own parts see it: what an app may call, and what they share. */
export interface EngineHost extends RunEngine, ResumeHost {
  readonly surfaces: RunEngine['surfaces']
  readonly interrupted: InterruptedRuns
  readonly lostRuns: LostRuns
  readonly queued: { serve(): void }
}
