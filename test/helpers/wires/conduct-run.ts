import type { NumberedPart } from '@svc/registry'
import { answerTo, numberOf } from '../../../bench/soak/agents/plan.ts'
import { Random } from '../../../bench/soak/random.ts'
import { FollowedLog } from './followed-log.ts'
import { reportOfLog } from './report-of-log.ts'
import { isAsking, type Act, type Asked, type Report, type Wire, type WireJob, type WireRun } from './wire.ts'

/** Milliseconds after which a run counts as stuck. */
const PATIENCE = 120_000

/** How a run is conducted. */
export interface Conduct {
  readonly wires: readonly Wire[]
  /** Reads the log of a run to its end. */
  readonly readLog: (runId: string) => AsyncIterable<NumberedPart>
  readonly job: WireJob
  readonly hasSession: boolean
  /** The wire that starts the run. */
  readonly starter: Wire
  /** The number of the part at which the run is canceled; undefined: it is not. */
  readonly cancelAt: number | undefined
  readonly seed: number
}

/** What a wire has reported of a run, and how. */
export interface WireReport {
  readonly wire: Wire
  readonly how: 'at the start' | 'from the start' | 'late'
  readonly report: Partial<Report> | undefined
}

/** A run that has ended: what its log says, and what each wire has reported. */
export interface ConductedRun {
  readonly sessionId: string
  readonly expected: Report
  readonly reports: readonly WireReport[]
  /** Who did what, such as `start HTTP`. */
  readonly acts: readonly string[]
}

/** Starts a run over one wire, watches it over all, answers what it waits for and cancels it over others, and reads it again at its end. */
export async function conductRun(conduct: Conduct): Promise<ConductedRun> {
  const { wires, readLog, job, starter, cancelAt, seed } = conduct
  const hasSession = conduct.hasSession && starter.keepsTurns !== false
  const random = new Random(seed)
  const acts: string[] = []
  const pending = new Set<string>()
  const during = <T>(label: string, act: Promise<T>): Promise<T> => {
    pending.add(label)
    const named = act.catch((err: unknown) => {
      throw new Error(`${label}: ${String(err)}`, { cause: err })
    })
    return named.finally(() => pending.delete(label))
  }
  const reaching = wires.filter((wire) => hasSession || wire.needsSession !== true)
  const choose = (act: Act, from: Random, asked?: Asked): Wire => {
    const able = reaching.filter((wire) => wire.cannot?.(act, job, asked) === undefined)
    const others = able.filter((wire) => wire !== starter)
    return from.pick(others.length > 0 ? others : able)
  }

  const canceler = choose('cancel', random)
  const work = async (): Promise<ConductedRun> => {
    acts.push(`start ${starter.name}`)
    const started = await during(acts[0]!, starter.start(job, random.next()))
    const { runId, sessionId, rest } = started
    const log = new FollowedLog()
    const run: WireRun = {
      job,
      runId,
      sessionId,
      hasSession,
      beyond: (seq) => log.beyond(seq),
      progress: () => log.progress()
    }
    const watchers = reaching.filter((wire) => wire.cannot?.('watch', job) === undefined)
    const watch = (how: 'from the start' | 'late') =>
      watchers.map(async (wire): Promise<WireReport> => {
        const report = during(`watch ${wire.name} ${how}`, wire.watch(run, how === 'late', random.next()))
        return { wire, how, report: await report }
      })
    const live = Promise.all([
      ...watch('from the start'),
      during(`rest ${starter.name}`, rest ?? Promise.resolve(undefined)).then((report): WireReport => ({
        wire: starter,
        how: 'at the start',
        report
      }))
    ])

    const follow = async () => {
      const doing: Promise<void>[] = []
      let isCanceled = false
      for await (const part of readLog(runId)) {
        log.add(part)
        if (part.seq === cancelAt) {
          isCanceled = true
          acts.push(`cancel ${canceler.name}`)
          doing.push(during(acts.at(-1)!, canceler.cancel(run)))
        }
        if (!isAsking(part) || isCanceled || starter.answersItself) continue
        const asked = toAsked(part)
        const answerer = choose('answer', new Random(seed ^ numberOf(asked.id.slice(runId.length))), asked)
        acts.push(`answer ${answerer.name}`)
        const label = `answer ${answerer.name} ${JSON.stringify(asked)}`
        doing.push(
          during(label, answerer.answer(run, asked)).catch(async (err: unknown) => {
            // Another wire may have answered it together with others.
            pending.add(String(err))
            await log.answered(asked.id)
            pending.delete(String(err))
          })
        )
      }
      log.end()
      await Promise.all(doing)
    }
    const [first] = await Promise.all([live, follow()])
    const expected = reportOfLog(log.parts)
    const reports = [...first, ...(await Promise.all(watch('late')))]
    return { sessionId, expected, reports, acts }
  }

  const stuck = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => stuck.reject(new Error(`${job.kind} ${job.name} is stuck: ${[...pending].join(', ')}`)),
    PATIENCE
  )
  try {
    return await Promise.race([work(), stuck.promise])
  } finally {
    clearTimeout(timer)
  }
}

// The answer is always the same for the same call.
function toAsked(part: Extract<NumberedPart, { type: 'tool.approval.request' | 'input.request' }>): Asked {
  if (part.type === 'tool.approval.request') {
    const args = part.args as { key: string }
    const { accept, choice } = answerTo(args.key)
    const { approvalId: id, toolCallId } = part
    return { id, kind: 'approval', toolCallId, accept, args: { ...args, by: choice } }
  }
  const { inputId: id, kind, message, toolCallId } = part
  if (kind === 'tool') {
    const { accept, choice } = answerTo(toolCallId!)
    return { id, kind, toolCallId, accept, content: `picked ${choice}` }
  }
  const { accept, choice } = answerTo(/for (.*)\?/.exec(message!)![1]!)
  return { id, kind: 'question', toolCallId, accept, content: { choice } }
}
