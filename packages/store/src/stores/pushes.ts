import type { PushConfig, TaskStore } from '@svc/contract'
import type { ExpressionBuilder, Kysely, NotNull } from 'kysely'
import type { Claimant } from '../backend.ts'
import type { Commit } from '../commit.ts'
import { parseStored, type SkipDamaged } from '../encoding/stored-values.ts'
import type { Tables } from '../tables.ts'

/** The part of `TaskStore` about push notifications. */
type Pushes = Pick<
  TaskStore,
  | 'setPushConfig'
  | 'claimPushes'
  | 'releasePushes'
  | 'holdsPush'
  | 'recordPush'
  | 'countOpenPushes'
  | 'listPushConfigs'
  | 'removePushConfig'
>

/** Push notifications, in SQL. A claim names its node, and ends with it. */
export function createPushes(
  db: Kysely<Tables>,
  commit: Commit,
  claimant: Claimant,
  skipDamaged: SkipDamaged
): Pushes {
  const toConfig = (task_id: string, config_id: string, json: string) => {
    const config = parseStored<PushConfig>(json)
    if (config === undefined) skipDamaged('push_config', `${task_id} ${config_id}`)
    return config
  }
  return {
    async setPushConfig(taskId, config, pushed, maxPerTask = Infinity) {
      const nodeId = await claimant.id()
      return commit.write(async (trx) => {
        const task = trx.selectFrom('task').select('owner').where('task_id', '=', taskId)
        const { owner } = (await task.executeTakeFirst()) ?? {}
        if (owner === undefined) return 'unknown'
        const others = trx.selectFrom('push_config').select('config_id').where('task_id', '=', taskId)
        const rows = await others.where('config_id', '<>', config.id).execute()
        if (rows.length >= maxPerTask) return 'full'
        const row = {
          ...{ task_id: taskId, config_id: config.id, config: JSON.stringify(config), pushed },
          ...{ owner, endpoint: config.endpoint ?? null, node_id: nodeId }
        }
        await trx
          .insertInto('push_config')
          .values(row)
          .onConflict((conflict) => conflict.columns(['task_id', 'config_id']).doUpdateSet(row))
          .execute()
        return 'stored'
      })
    },
    async claimPushes({ endpoint, maxTasks }) {
      const nodeId = await claimant.id()
      return commit.write(async (trx) => {
        const isClaimable = (is: ExpressionBuilder<Tables, 'push_config'>) =>
          is.and([
            is('pushed', 'is not', null),
            is('endpoint', '=', endpoint),
            isUnclaimed(is, nodeId, claimant.isShared)
          ])
        const tasks = trx.selectFrom('push_config').select('task_id').distinct().where(isClaimable)
        const rows = await trx
          .updateTable('push_config')
          .set({ node_id: nodeId })
          .where(isClaimable)
          .where('task_id', 'in', tasks.orderBy('task_id').limit(maxTasks))
          .returning(['task_id', 'config_id', 'config', 'pushed'])
          .$narrowType<{ pushed: NotNull }>()
          .execute()
        return rows.flatMap(({ task_id: taskId, config_id, config: json, pushed }) => {
          const config = toConfig(taskId, config_id, json)
          return config === undefined ? [] : { taskId, config, pushed }
        })
      })
    },
    async releasePushes(endpoint) {
      const nodeId = await claimant.id()
      await commit.write((trx) =>
        trx
          .updateTable('push_config')
          .set({ node_id: null })
          .where('pushed', 'is not', null)
          .where('endpoint', '=', endpoint)
          .where('node_id', '=', nodeId)
          .execute()
      )
    },
    async holdsPush(taskId, configId) {
      const row = await db
        .selectFrom('push_config')
        .select('node_id')
        .where('task_id', '=', taskId)
        .where('config_id', '=', configId)
        .where('pushed', 'is not', null)
        .executeTakeFirst()
      return row !== undefined && row.node_id === (await claimant.id())
    },
    async recordPush(taskId, configId, pushed) {
      const nodeId = await claimant.id()
      return commit.write(async (trx) => {
        const { numUpdatedRows } = await trx
          .updateTable('push_config')
          .set({ pushed })
          .where('task_id', '=', taskId)
          .where('config_id', '=', configId)
          .where('pushed', 'is not', null)
          .where('node_id', '=', nodeId)
          .executeTakeFirst()
        return numUpdatedRows === 1n
      })
    },
    async countOpenPushes(owner) {
      const { count } = await db
        .selectFrom('push_config')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .where('owner', '=', owner)
        .where('pushed', 'is not', null)
        .executeTakeFirstOrThrow()
      return count
    },
    async listPushConfigs(taskId) {
      const configs = db.selectFrom('push_config').selectAll().where('task_id', '=', taskId)
      const rows = await configs.orderBy('config_id').execute()
      return rows.flatMap(({ config_id, config }) => toConfig(taskId, config_id, config) ?? [])
    },
    removePushConfig: (taskId, configId) =>
      commit.write(async (trx) => {
        const { numDeletedRows } = await trx
          .deleteFrom('push_config')
          .where('task_id', '=', taskId)
          .where('config_id', '=', configId)
          .executeTakeFirst()
        return numDeletedRows === 1n
      })
  }
}

// Of a database that is not shared, other nodes are earlier processes.
function isUnclaimed(is: ExpressionBuilder<Tables, 'push_config'>, nodeId: string, isShared: boolean) {
  const isOther = is('node_id', '<>', nodeId)
  const living = is
    .selectFrom('node')
    .select('node.node_id')
    .whereRef('node.node_id', '=', 'push_config.node_id')
  return is.or([is('node_id', 'is', null), isShared ? is.and([isOther, is.not(is.exists(living))]) : isOther])
}
