import type { WhenBusy } from '@svc/registry'
import type { Accepted, EndedRun, PromptItem, SeenCall } from './busy-service.ts'

/** A message, and what came of it. */
export interface SentMessage {
  readonly id: string
  /** Messages of one group were sent at once; each group after the answers to the one before. */
  readonly group: number
  accepted: Accepted | undefined
  /** When its sender had the answer. */
  ackAt: number
  /** Its run, or the one that it has joined. */
  run: EndedRun | undefined
}

/** True if the message has joined a run that another one began. */
export function hasJoined({ id, run }: SentMessage): boolean {
  return run !== undefined && run.message !== id
}

/** What is wrong, by count. */
export interface BusyFaults {
  /** Messages that the model never read, though neither they were refused nor their runs canceled. */
  lost: number
  /** Messages that began a turn twice, or are twice in a prompt. */
  twice: number
  /** Runs that began before one that was accepted earlier. */
  disordered: number
  /** Prompts with a part of a turn. */
  halved: number
  /** Model calls that began after the answer to a message that joined their run, without it. */
  late: number
  /** Messages in the session that should not be, or not there that should. */
  misplaced: number
}

/** None. */
export const NO_FAULTS: BusyFaults = { lost: 0, twice: 0, disordered: 0, halved: 0, late: 0, misplaced: 0 }

/** Compares the calls of the model with the messages of their session. */
export function faultsOf(
  sent: readonly SentMessage[],
  calls: readonly SeenCall[],
  whenBusy: WhenBusy
): BusyFaults {
  const faults = { ...NO_FAULTS }
  const joined = new Set(sent.filter(hasJoined).map(({ id }) => id))
  const seen = calls.map(({ at, items }) => toSeen(at, items, joined))
  const firstCalls: { group: number; at: number }[] = []
  for (const message of sent) {
    const { id, group, accepted, ackAt, run: own } = message
    const status = own?.status
    const reading = seen.filter(({ ids }) => ids.includes(id))
    const beginning = seen.filter(({ last }) => last === id)
    if (own === undefined) {
      faults.misplaced += reading.length
      continue
    }
    faults.twice += Math.max(0, beginning.length - 1)
    if (status !== 'canceled' && reading.length === 0) faults.lost++
    if (status === 'failed') faults.lost++
    if (accepted!.joined !== undefined && accepted!.joined !== hasJoined(message)) faults.misplaced++
    if (hasJoined(message)) {
      const later = seen.filter(({ at, run }) => at > ackAt && run === own.message)
      faults.late += later.filter(({ ids }) => !ids.includes(id)).length
    } else if (beginning.length > 0) firstCalls.push({ group, at: beginning[0]!.at })
    if (status === 'canceled' && beginning.length > 0) {
      const later = seen.filter(({ at, run }) => at > ackAt && run !== id && at > beginning[0]!.at)
      faults.misplaced += later.filter(({ ids }) => ids.includes(id) !== (whenBusy === 'interrupt')).length
    }
  }
  firstCalls.sort((a, b) => a.at - b.at)
  firstCalls.forEach(
    ({ group }, at) => (faults.disordered += group < (firstCalls[at - 1]?.group ?? 0) ? 1 : 0)
  )
  for (const { ids } of seen) faults.twice += ids.length - new Set(ids).size
  faults.halved = seen.filter(({ hasWholeTurns }) => !hasWholeTurns).length
  return faults
}

/** A prompt: the messages in it, the one that it ends with, if it is one, and the one whose run it belongs to. */
interface Seen {
  readonly at: number
  readonly ids: readonly string[]
  readonly last: string | undefined
  readonly run: string | undefined
  readonly hasWholeTurns: boolean
}

function toSeen(at: number, items: readonly PromptItem[], joined: ReadonlySet<string>): Seen {
  const ids = items.flatMap((item) => ('user' in item ? [idOf(item.user)] : []))
  const end = items.at(-1)!
  const last = 'user' in end ? idOf(end.user) : undefined
  const run = ids.findLast((id) => !joined.has(id))
  return { at, ids, last, run, hasWholeTurns: isWhole(items, joined) }
}

function idOf(text: string): string {
  return text.split(' ', 1)[0]!
}

// Each call has its outcome, and each turn before the last one an end: its answer, or the mark of an interruption.
function isWhole(items: readonly PromptItem[], joined: ReadonlySet<string>): boolean {
  const called = items.flatMap((item) => ('call' in item ? [item.call] : []))
  const answered = items.flatMap((item) => ('outcome' in item ? [item.outcome] : []))
  if (called.toSorted().join() !== answered.toSorted().join()) return false
  let hasEnded = true
  for (const item of items) {
    if ('said' in item && /^done |\[interrupted here\]$/.test(item.said)) hasEnded = true
    if (!('user' in item) || joined.has(idOf(item.user))) continue
    if (!hasEnded) return false
    hasEnded = false
  }
  return true
}
