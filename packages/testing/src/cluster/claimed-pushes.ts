import type { TaskStore } from '@svc/contract'

/** Which node of a test has claimed which push notifications. */
export class PushClaims {
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
