import {
  codeOf,
  isTerminalStatus,
  sessionKeyText,
  unlessAborted,
  type Awaitable,
  type EndTurn,
  type NodeLease,
  type PlacedTurn,
  type RunQueue,
  type RunStore,
  type RunSummary,
  type Stores,
  type TaskStore,
  type TurnPlace
} from '@svc/contract'
import { RUN_ERR_TOO_MANY_RUNS } from '@svc/contract/errors'
import { createInProcessStores } from '@svc/registry'
import { createInProcessCounterStore } from '@svc/registry/engine'

/** The nodes of a test that share their stores, and the runs that each has. */
class TestMembers {
  readonly #living = new Set<TestLease>()
  readonly #nodes = new Map<string, object>()
  readonly #leases = new Set<TestLease>()
  readonly #onDeath: () => void
  /** The clock of the stores. */
  readonly clock: () => number

  /** @param onDeath called when a node has died or departed */
  constructor(onDeath: () => void, clock: () => number) {
    this.#onDeath = onDeath
    this.clock = clock
  }

  add(lease: TestLease): void {
    this.#leases.add(lease)
    this.#living.add(lease)
  }

  isAlive(lease: TestLease, node: object): boolean {
    return this.#living.has(lease) && lease.node === node
  }

  isNodeAlive(node: object): boolean {
    return [...this.#living].some((lease) => lease.node === node)
  }

  /** True if a living node has the run, other than `except`. */
  has(runId: string, except?: TestLease): boolean {
    const node = this.#nodes.get(runId)
    return [...this.#living].some((lease) => lease !== except && lease.node === node)
  }

  take(runId: string, { node }: Pick<TestLease, 'node'>): void {
    this.#nodes.set(runId, node)
  }

  leave(runId: string, { node }: TestLease): void {
    if (this.#nodes.get(runId) !== node) return
    this.#nodes.delete(runId)
    this.#announce()
  }

  /** No node has the run any more. */
  release(runId: string): void {
    this.#nodes.delete(runId)
  }

  live(lease: TestLease): void {
    this.#living.add(lease)
  }

  die(lease: TestLease): void {
    if (!this.#living.delete(lease)) return
    this.#announce(lease)
    this.#onDeath()
  }

  #announce(except?: TestLease): void {
    for (const lease of this.#leases) if (lease !== except) lease.othersLeft()
  }
}

/** The lease of one node of a test. */
class TestLease implements NodeLease {
  readonly #members: TestMembers
  readonly #lost = new Set<() => Awaitable<void>>()
  readonly #left = new Set<() => void>()
  #regained = Promise.withResolvers<void>()
  #node: object = {}
  #hasContact = true
  #isOver = false

  constructor(members: TestMembers) {
    this.#members = members
    members.add(this)
  }

  /** Stands for the id under which the node has joined. */
  get node(): object {
    return this.#node
  }

  get held(): boolean {
    return this.#hasContact && !this.#isOver
  }

  whenHeld(signal: AbortSignal): Awaitable<void> {
    signal.throwIfAborted()
    if (this.held) return
    return unlessAborted(signal, () => this.#regained.promise)
  }

  now(): number {
    return this.#members.clock()
  }

  onLost(listener: () => Awaitable<void>): () => void {
    this.#lost.add(listener)
    return () => this.#lost.delete(listener)
  }

  onLeft(listener: () => void): () => void {
    this.#left.add(listener)
    return () => this.#left.delete(listener)
  }

  release(runId: string): void {
    this.#members.leave(runId, this)
  }

  leave(): void {
    this.#isOver = true
    this.#members.die(this)
  }

  /** As `NodeLease.onLeft`. */
  othersLeft(): void {
    for (const listener of this.#left) listener()
  }

  loseContact(): void {
    this.#hasContact = false
  }

  declareDead(): void {
    this.#members.die(this)
  }

  async regainContact(): Promise<void> {
    if (!this.#isOver && !this.#members.isAlive(this, this.#node)) {
      for (const listener of this.#lost) await listener()
      this.#node = {}
      this.#members.live(this)
    }
    this.#hasContact = true
    this.#regained.resolve()
    this.#regained = Promise.withResolvers()
  }
}

/** Which node of a test has claimed which push notifications. */
class PushClaims {
  readonly #claims = new Map<string, { node: object; endpoint: string | undefined }>()

  /** The store as a node sees it. @param isAlive whether a node, as `node` returns it, is alive */
  share(tasks: TaskStore, node: () => object, isAlive: (node: object) => boolean): TaskStore {
    const claims = this.#claims
    const isMine = (taskId: string, configId: string) => claims.get(keyOf(taskId, configId))?.node === node()
    return {
      ...tasks,
      async setPushConfig(taskId, config, pushed, maxPerTask) {
        const outcome = await tasks.setPushConfig(taskId, config, pushed, maxPerTask)
        if (outcome === 'stored')
          claims.set(keyOf(taskId, config.id), { node: node(), endpoint: config.endpoint })
        return outcome
      },
      async claimPushes({ endpoint, maxTasks }) {
        await tasks.releasePushes(endpoint)
        const all = await tasks.claimPushes({ endpoint, maxTasks: 1_000 })
        const left = all.filter(({ taskId, config }) => {
          const claim = claims.get(keyOf(taskId, config.id))
          return claim === undefined || !isAlive(claim.node)
        })
        const taskIds = new Set([...new Set(left.map(({ taskId }) => taskId))].slice(0, maxTasks))
        const claimed = left.filter(({ taskId }) => taskIds.has(taskId))
        for (const { taskId, config } of claimed)
          claims.set(keyOf(taskId, config.id), { node: node(), endpoint })
        return claimed
      },
      releasePushes(endpoint) {
        for (const [key, claim] of claims)
          if (claim.node === node() && claim.endpoint === endpoint) claims.delete(key)
      },
      holdsPush: (taskId, configId) => isMine(taskId, configId) && tasks.holdsPush(taskId, configId),
      recordPush: (taskId, configId, pushed) =>
        isMine(taskId, configId) && tasks.recordPush(taskId, configId, pushed)
    }
  }
}

function keyOf(taskId: string, configId: string): string {
  return JSON.stringify([taskId, configId])
}

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
class SessionTickets {
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
      release(codeOf(err) === 'RUN_ERR_SUSPENDED')
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
    const leave = (keep = false) => {
      const index = queue.indexOf(ticket)
      if (keep) ticket.isAlive = () => false
      else if (index !== -1 && ticket.isPlaced) queue.splice(index, 1)
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

/** One node of a test: its view of the stores that it shares with the others. */
export interface TestNode {
  readonly stores: Stores & { readonly lease: NodeLease }
  /** The lease is not held any more; calls of the stores still work. */
  loseContact(): void
  /** Others declare the node dead and may take its runs; the node does not notice yet. */
  declareDead(): void
  /** The lease is held again. A node that was declared dead notices it first, and joins again. */
  regainContact(): Promise<void>
}

/**
 * Stores in memory that several engines of a test share, as nodes of a service share a database.
 * @param clock the clock of the stores; default `Date.now`
 */
export function createTestCluster(clock = Date.now): { join(): TestNode } {
  const shared = { ...createInProcessStores(), counters: createInProcessCounterStore() }
  const isOver = (runId: string) => {
    const run = shared.runs.find(runId) as RunSummary | undefined
    return run === undefined || isTerminalStatus(run.status)
  }
  const tickets = new SessionTickets(isOver)
  const pushes = new PushClaims()
  const members = new TestMembers(() => tickets.look(), clock)
  return {
    join() {
      const lease = new TestLease(members)
      return {
        stores: {
          ...shared,
          lease,
          tasks: pushes.share(
            shared.tasks,
            () => lease.node,
            (node) => members.isNodeAlive(node)
          ),
          queue: { ...shared.queue!, ...queued(shared.queue!, members, lease) },
          runs: { ...shared.runs, ...leased(shared.runs, members, lease) },
          log: {
            ...shared.log,
            append(runId, epoch, entries, change, steps) {
              const appended = shared.log.append(runId, epoch, entries, change, steps)
              if (change !== undefined && isTerminalStatus(change.status)) tickets.look()
              return appended
            }
          },
          sessions: {
            ...shared.sessions,
            place(key, runId, ifFree) {
              const { node } = lease
              return tickets.place(sessionKeyText(key), runId, () => members.isAlive(lease, node), ifFree)
            },
            places: (runIds) => tickets.places(runIds),
            lock(key, signal, holder, onPlace) {
              const { node } = lease
              const isAlive = () => members.isAlive(lease, node)
              return tickets.lock(sessionKeyText(key), signal, holder, isAlive, onPlace)
            }
          }
        },
        loseContact: () => lease.loseContact(),
        declareDead: () => lease.declareDead(),
        regainContact: () => lease.regainContact()
      }
    }
  }
}

function queued(queue: RunQueue, members: TestMembers, lease: TestLease): Partial<RunQueue> {
  return {
    async add(run, first, checkpoint) {
      members.release(run.runId)
      return queue.add(run, first, checkpoint)
    },
    async next(query) {
      const next = await queue.next(query)
      if (next !== undefined) members.take(next.runId, lease)
      return next
    },
    async withdraw(runId) {
      const epoch = await queue.withdraw(runId)
      if (epoch !== undefined) members.take(runId, lease)
      return epoch
    }
  }
}

// The calls in which it matters which node has a run.
function leased(runs: RunStore, members: TestMembers, lease: TestLease): Partial<RunStore> {
  return {
    async create(run, maxPerOwner = Infinity) {
      const { node } = lease
      const earlier = await runs.create(run)
      if (earlier !== undefined) return earlier
      const { runs: unfinished } = await runs.listLeft({ limit: 1_000 })
      if (unfinished.filter(({ owner }) => owner === run.owner).length > maxPerOwner) {
        await runs.remove(run.runId)
        throw new RUN_ERR_TOO_MANY_RUNS()
      }
      members.take(run.runId, { node })
      return undefined
    },
    async listLeft(query) {
      const page = await runs.listLeft(query)
      return { ...page, runs: page.runs.filter(({ runId }) => !members.has(runId)) }
    },
    async lease(runId) {
      if (members.has(runId, lease)) return undefined
      const epoch = await runs.lease(runId)
      if (epoch !== undefined) members.take(runId, lease)
      return epoch
    }
  }
}
