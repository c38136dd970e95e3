import { unlessAborted, type EndTurn, type PlacedTurn, type TurnPlace } from '@svc/contract'

interface Ticket {
  readonly holder: string | undefined
  /** True while the process of its holder lives. */
  isAlive: () => boolean
  /** Lets the waiting holder begin its turn. */
  begin: (() => void) | undefined
  /** True until its run asks for its turn. */
  isPlaced: boolean
  onPlace?: ((place: TurnPlace) => void) | undefined
}

/** The turns of sessions that several nodes of a test share: the first ticket of a session has the turn. */
export class SessionTickets {
  readonly #queues = new Map<string, Ticket[]>()
  readonly #isRunOver: (runId: string) => boolean

  /** @param isRunOver true if a run has ended or is unknown */
  constructor(isRunOver: (runId: string) => boolean) {
    this.#isRunOver = isRunOver
  }

  /** As `SessionStore.lock`, for the process that `isAlive` reports. */
  async lock(
    key: string,
    signal: AbortSignal,
    holder: string | undefined,
    isAlive: () => boolean,
    onPlace?: (place: TurnPlace) => void
  ): Promise<EndTurn> {
    signal.throwIfAborted()
    const queue = this.#queues.get(key) ?? []
    this.#queues.set(key, queue)
    // The run of a dead process keeps its place, and so does one that was placed.
    const kept = queue.find(
      (ticket) => holder !== undefined && ticket.holder === holder && (ticket.isPlaced || !ticket.isAlive())
    )
    const ticket: Ticket = kept ?? { holder, isAlive, begin: undefined, isPlaced: false }
    Object.assign(ticket, { isAlive, isPlaced: false, onPlace })
    if (kept === undefined) queue.push(ticket)
    const release = (keep = false) => {
      const index = queue.indexOf(ticket)
      const isHeld = index !== -1 && ticket.isAlive === isAlive
      if (isHeld && keep) Object.assign(ticket, { isAlive: () => false, begin: undefined })
      else if (isHeld) queue.splice(index, 1)
      this.look()
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    ticket.begin = resolve
    this.look()
    try {
      await unlessAborted(signal, () => promise)
    } catch (err) {
      release()
      throw err
    }
    return release
  }

  /** As `SessionStore.place`, for the process that `isAlive` reports. */
  place(key: string, holder: string, isAlive: () => boolean, ifFree = false): PlacedTurn {
    const queue = this.#queues.get(key) ?? []
    this.#queues.set(key, queue)
    this.look()
    const kept = queue.findIndex((each) => each.holder === holder)
    const place = placeAt(queue, kept === -1 ? queue.length : kept)
    if (kept !== -1 || (ifFree && queue.length > 0)) return { ...place, leave: () => {} }
    const ticket: Ticket = { holder, isAlive, begin: undefined, isPlaced: true }
    queue.push(ticket)
    const leave = () => {
      const index = queue.indexOf(ticket)
      if (index !== -1 && ticket.isPlaced) queue.splice(index, 1)
      this.look()
    }
    return { ...place, leave }
  }

  /** As `SessionStore.places`. */
  places(runIds: readonly string[]): Map<string, TurnPlace> {
    this.look()
    const lines = [...this.#queues.values()]
    return new Map(
      lines.flatMap((queue) =>
        queue.flatMap(({ holder }, index): [string, TurnPlace][] =>
          index > 0 && holder !== undefined && runIds.includes(holder)
            ? [[holder, placeAt(queue, index)]]
            : []
        )
      )
    )
  }

  /** Lets those begin whose turn it is, since a turn, a run or a process has ended. */
  look(): void {
    for (const queue of this.#queues.values()) {
      while (queue[0] !== undefined && this.#isStale(queue[0])) queue.shift()
      queue[0]?.begin?.()
      for (const [index, { onPlace }] of queue.entries()) if (index > 0) onPlace?.(placeAt(queue, index))
    }
  }

  #isStale({ holder, isAlive }: Ticket): boolean {
    return !isAlive() && (holder === undefined || this.#isRunOver(holder.split('/', 1)[0]!))
  }
}

function placeAt(queue: readonly Ticket[], position: number): TurnPlace {
  const active = position === 0 ? undefined : queue[0]?.holder?.split('/', 1)[0]
  return { position, ...(active !== undefined && { active }) }
}
