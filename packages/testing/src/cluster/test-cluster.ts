import {
  isTerminalStatus,
  RUN_ERR_TOO_MANY_RUNS,
  sessionKeyText,
  type NodeLease,
  type RunQueue,
  type RunStore,
  type RunSummary,
  type Stores
} from '@svc/contract'
import { createInProcessCounterStore } from '@svc/registry/engine'
import { createInProcessStores } from '@svc/registry'
import { PushClaims } from './claimed-pushes.ts'
import { SessionTickets } from './session-tickets.ts'
import { TestLease, TestMembers } from './test-lease.ts'

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
