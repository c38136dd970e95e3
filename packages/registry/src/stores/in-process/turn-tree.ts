import { estimateLength, type SessionMessage, type StoredMessage, type TurnBranches } from '@svc/contract'
import { RUN_ERR_NO_TURN } from '@svc/contract/errors'
import { runIdOfTurn } from '@svc/contract/stores'

// Per session; the oldest go first. At most twice as many are kept.
const MAX_MESSAGES = 10_000

/** Which messages of a branch are wanted, from the newest on. */
interface MessagesQuery {
  readonly limit: number
  readonly bytes?: number | undefined
  /** As in `HistoryBounds`. */
  readonly fromSummary?: boolean | undefined
}

/** A turn of a session. */
export interface KeptTurn {
  readonly turnId: string
  /** The number of its first message, from 1. */
  readonly first: number
  readonly messages: readonly SessionMessage[]
  /** The turn that it follows, while that is kept. */
  previous: KeptTurn | undefined
  /** How many sessions have its messages, if a fork does. */
  shared?: { holders: number }
}

/** The turns of a session in process memory, in the order in which they were saved; each follows an earlier one. */
export class TurnTree {
  #turns: KeptTurn[] = []
  #lastSeq = 0
  #kept = 0
  #hasForgotten = false
  // The last message that another session has too.
  #base = 0
  /** True if some turn does not follow the one saved before it. */
  isBranched = false

  get newest(): KeptTurn | undefined {
    return this.#turns.at(-1)
  }

  /** True if turns were saved in this session itself. */
  get hasOwn(): boolean {
    return (this.newest?.first ?? 0) > this.#base
  }

  /** The number that stands for the place of the fork; undefined if the session is none. */
  get forkedAt(): number | undefined {
    return this.#base === 0 ? undefined : this.#base + 1
  }

  get length(): number {
    return this.#turns.length
  }

  get oldest(): KeptTurn | undefined {
    return this.#turns[0]
  }

  /** Adds a turn that follows `previous`; false if it is the newest one. */
  append(turnId: string, messages: readonly SessionMessage[], previous: KeptTurn | undefined): boolean {
    const { newest } = this
    if (newest?.turnId === turnId) return false
    if (previous !== newest) this.isBranched = true
    const turn = { turnId, first: this.#lastSeq + 1, messages, previous }
    // An array with room for more would take more than the turn; most sessions have one.
    if (this.#turns.length === 0) this.#turns = [turn]
    else this.#turns.push(turn)
    this.#lastSeq += messages.length
    this.#kept += messages.length
    if (this.#kept > MAX_MESSAGES * 2) this.#forget()
    return true
  }

  /** Removes turns; those after them follow the turns before them. Returns how many. */
  remove(isRemoved: (turn: KeptTurn) => boolean): number {
    const removed = new Set(this.#turns.filter(isRemoved))
    if (removed.size === 0) return 0
    this.#turns = this.#turns.filter((turn) => !removed.has(turn))
    for (const turn of removed) leave(turn)
    for (const turn of this.#turns)
      while (turn.previous !== undefined && removed.has(turn.previous)) turn.previous = turn.previous.previous
    this.#kept = this.#turns.reduce((sum, { messages }) => sum + messages.length, 0)
    return removed.size
  }

  /** A tree of its own that shares the messages of a turn and of those before it. */
  fork(last: KeptTurn | undefined): TurnTree {
    const fork = new TurnTree()
    const branch: KeptTurn[] = []
    for (let turn = last; turn !== undefined; turn = turn.previous) branch.push(turn)
    for (const turn of branch.toReversed()) {
      turn.shared ??= { holders: 1 }
      turn.shared.holders++
      fork.#turns.push({ ...turn, previous: fork.newest })
      fork.#kept += turn.messages.length
    }
    if (last === undefined) return fork
    fork.#base = last.first + last.messages.length - 1
    // As in SQL, where the number after them stands for the place of the fork.
    fork.#lastSeq = fork.#base + 1
    return fork
  }

  /** The session is removed: the number of its own messages that forks still have. */
  release(): number {
    let left = 0
    for (const turn of this.#turns) if (leave(turn) && turn.first > this.#base) left += turn.messages.length
    return left
  }

  find(turnId: string): KeptTurn | undefined {
    return this.#turns.findLast((turn) => turn.turnId === turnId)
  }

  /** The last turn of a run. */
  findOf(runId: string): KeptTurn | undefined {
    return this.#turns.findLast(({ turnId }) => runIdOfTurn(turnId) === runId)
  }

  /** The newest turn of the runs. */
  findOfAny(runIds: ReadonlySet<string>): KeptTurn | undefined {
    return this.#turns.findLast(({ turnId }) => runIds.has(runIdOfTurn(turnId)))
  }

  /** The end of the newest branch with this turn. */
  leafOf(turn: KeptTurn): KeptTurn {
    if (!this.isBranched) return this.newest ?? turn
    const branch = new Set([turn])
    let leaf = turn
    for (const each of this.#turns) {
      if (each.previous === undefined || !branch.has(each.previous)) continue
      branch.add(each)
      leaf = each
    }
    return leaf
  }

  /** As many messages of a turn and those before it as fit, oldest first; at least one. @param end only those before this one */
  messagesTo(
    last: KeptTurn | undefined,
    { limit, bytes = Infinity, fromSummary = false }: MessagesQuery,
    end = Infinity
  ): StoredMessage[] {
    const found: StoredMessage[] = []
    let left = bytes
    let [most, hasSummary] = [limit, !fromSummary]
    for (let turn = last; turn !== undefined && found.length < most; turn = turn.previous) {
      const { turnId, first, messages } = turn
      for (let index = messages.length - 1; index >= 0 && found.length < most; index--) {
        if (first + index >= end) continue
        const message = messages[index]!
        if (left !== Infinity) left -= estimateLength(message, left)
        if (left < 0 && found.length > 0) return found.toReversed()
        found.push({ seq: first + index, turnId, message })
        if (hasSummary || message.role !== 'summary') continue
        hasSummary = true
        most = Math.min(most, found.length + message.keeps)
      }
    }
    return found.toReversed()
  }

  /** True if there are messages before this one. */
  hasBefore(seq: number): boolean {
    const turn = this.turnAt(seq)
    return turn !== undefined && (seq > turn.first || turn.previous !== undefined)
  }

  /** The turn with this message. */
  turnAt(seq: number): KeptTurn | undefined {
    let [low, high] = [0, this.#turns.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#turns[middle]!.first <= seq) low = middle + 1
      else high = middle
    }
    return this.#turns[low - 1]
  }

  /** Where the session branches after these messages, and at its beginning if they have the first one of their branch. */
  branchesOf(messages: readonly StoredMessage[], isFirst: boolean): TurnBranches[] {
    if (!this.isBranched) return []
    const shown = new Set<KeptTurn | undefined>(isFirst && !this.#hasForgotten ? [undefined] : [])
    for (const { seq } of messages) {
      const turn = this.turnAt(seq)!
      if (seq === turn.first + turn.messages.length - 1) shown.add(turn)
    }
    const following = new Map<KeptTurn | undefined, string[]>([...shown].map((turn) => [turn, []]))
    for (const { turnId, previous } of this.#turns) following.get(previous)?.push(runIdOfTurn(turnId))
    return [...following]
      .filter(([, turns]) => turns.length > 1)
      .map(([previous, turns]) => ({ after: previous ? runIdOfTurn(previous.turnId) : null, turns }))
  }

  #forget(): void {
    this.#hasForgotten = true
    let from = 0
    while (this.#kept > MAX_MESSAGES) {
      const turn = this.#turns[from++]!
      this.#kept -= turn.messages.length
      leave(turn)
    }
    this.#turns = this.#turns.slice(from)
    const oldest = this.#turns[0]?.first ?? 0
    for (const turn of this.#turns)
      if (turn.previous !== undefined && turn.previous.first < oldest) turn.previous = undefined
  }
}

// A session has the turn no more; true if another one has it.
function leave({ shared }: KeptTurn): boolean {
  return shared !== undefined && --shared.holders > 0
}

/** The runs of a turn and of those before it. */
export function runsOnBranch(last: KeptTurn | undefined): Set<string> {
  const runIds = new Set<string>()
  for (let turn = last; turn !== undefined; turn = turn.previous) runIds.add(runIdOfTurn(turn.turnId))
  return runIds
}

/** The last turn of a run. @throws RUN_ERR_NO_TURN */
export function requireTurn(tree: TurnTree | undefined, runId: string): KeptTurn {
  const turn = tree?.findOf(runId)
  if (turn === undefined) throw new RUN_ERR_NO_TURN(runId)
  return turn
}
