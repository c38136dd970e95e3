import { unlessAborted, type Awaitable, type NodeLease } from '@svc/contract'

/** The nodes of a test that share their stores, and the runs that each has. */
export class TestMembers {
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
export class TestLease implements NodeLease {
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
