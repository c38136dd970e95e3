import {
  createRunEngine,
  type ApprovalAnswer,
  type NumberedPart,
  type Runnable,
  type RunInput,
  type RunResult,
  type StartOptions
} from '@svc/registry'
import { scriptedRunnable, type ScriptedAct } from '@svc/testing'
import { Team, type LeaderOptions, type Merge, type TeamBaseOptions, type TeamOptions } from '@svc/runtime'

/** A member that uses one token per answer. */
export function member(name: string, ...acts: ScriptedAct[]): Runnable {
  const usage = { promptTokens: 1, completionTokens: 2, totalTokens: 3 }
  return scriptedRunnable(
    [
      { type: 'step.start', index: 0, attempt: 1 },
      ...(acts.length === 0 ? [{ type: 'text', text: `${name} answers` } as const] : acts),
      { type: 'step', index: 0, usage }
    ],
    { name, description: `knows ${name}` }
  )
}

/** A member that fails. */
export function failing(
  name: string,
  err: unknown = Object.assign(new Error('secret'), { at: name })
): Runnable {
  return scriptedRunnable(
    [
      () => {
        throw err
      }
    ],
    { name }
  )
}

/** Options of a team in any mode, whether or not the mode takes them. */
export type AnyTeamOptions = Partial<TeamBaseOptions & LeaderOptions & { merge: Merge }>

/** An unregistered team. */
export function makeTeam(options: AnyTeamOptions & Pick<TeamOptions, 'mode' | 'members'>): Team {
  return new Team({ name: 'crew', register: false, ...options } as TeamOptions)
}

/** All parts and events of one run in its own engine. */
export async function runIn(
  runnable: Runnable,
  input: RunInput = 'Hi',
  { answers, ...options }: StartOptions & { answers?: ApprovalAnswer } = {}
) {
  const engine = createRunEngine({ drainTimeout: 0 })
  const run = await engine.start(runnable, input, options)
  const parts: NumberedPart[] = []
  for await (const part of run.parts()) {
    parts.push(part)
    if (part.type === 'tool.approval.request' && answers) await engine.answer(part.approvalId, answers)
  }
  let result: RunResult | undefined
  let error: (Error & { code?: string }) | undefined
  try {
    result = await run.result()
  } catch (err) {
    error = err as Error
  }
  await engine.close()
  /** Texts with their sources: `source: text`. */
  const said = parts.flatMap((part) =>
    part.type === 'text' ? [`${part.source?.join('/') ?? ''}: ${part.text}`] : []
  )
  return { parts, result, error, said, record: await engine.get(run.runId) }
}
