import type { PushConfig, StoredTask, TaskStore } from '@svc/contract'
import { formatRunCursor, parseRunCursor } from '@svc/contract/stores'
import type { ExpressionBuilder, Kysely, NotNull } from 'kysely'
import type { Claimant } from '../backend.ts'
import type { Commit } from '../commit.ts'
import { parseStored, type SkipDamaged } from '../encoding/values.ts'
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
function createPushes(
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
          task_id: taskId,
          config_id: config.id,
          config: JSON.stringify(config),
          pushed,
          owner,
          endpoint: config.endpoint ?? null,
          node_id: nodeId
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
      return commit.writeAmongOthers(async (trx) => {
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
      commit.writeAmongOthers(async (trx) => {
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

/** The A2A side of runs, in SQL. */
export function createTaskStore(
  db: Kysely<Tables>,
  commit: Commit,
  claimant: Claimant,
  skipDamaged: SkipDamaged
): TaskStore {
  const readTasks = (rows: readonly Tables['task'][]) => withMessages(db, rows, skipDamaged)
  return {
    taskOfMessage: (registry, owner, messageId) => taskOfMessage(db, { registry, owner }, messageId),
    create: (task, messageId) =>
      commit.writeAmongOthers(async (trx) => {
        const known = await taskOfMessage(trx, task, messageId)
        if (known !== undefined) return known
        const { taskId, contextId, registry, owner, agentName, createdAt, messages } = task
        const { numInsertedOrUpdatedRows: added } = await trx
          .insertInto('task')
          .values({
            task_id: taskId,
            context_id: contextId,
            registry,
            owner,
            agent_name: agentName,
            created_at: createdAt
          })
          .onConflict((conflict) => conflict.doNothing())
          .executeTakeFirstOrThrow()
        if (await insertMessage(trx, task, messageId, messages[0])) return taskId
        // Another process has kept the message meanwhile, in this task or in another one.
        if (added === 1n) await trx.deleteFrom('task').where('task_id', '=', taskId).execute()
        return (await taskOfMessage(trx, task, messageId))!
      }),
    async get(taskId) {
      const rows = await db.selectFrom('task').selectAll().where('task_id', '=', taskId).execute()
      return (await readTasks(rows))[0]
    },
    addMessage: (taskId, messageId, message) =>
      commit.writeAmongOthers(async (trx) => {
        const task = await senderOf(trx, taskId, commit.isShared)
        if (task === undefined || (await taskOfMessage(trx, task, messageId)) !== undefined) return false
        return insertMessage(trx, { ...task, taskId }, messageId, message)
      }),
    async lastOfContext(registries, owner, contextId) {
      const row = await newest(db)
        .where('owner', '=', owner)
        .where('context_id', '=', contextId)
        .where('registry', 'in', registries)
        .limit(1)
        .executeTakeFirst()
      return row && (await readTasks([row]))[0]
    },
    async list({ owner, contextId, limit, cursor }) {
      let query = newest(db)
      if (owner !== undefined) query = query.where('owner', '=', owner)
      if (contextId !== undefined) query = query.where('context_id', '=', contextId)
      if (cursor !== undefined) {
        const { at, runId } = parseRunCursor(cursor)
        query = query.where((is) => is(is.refTuple('created_at', 'task_id'), '<', is.tuple(at, runId)))
      }
      const rows = await query.limit(limit + 1).execute()
      const tasks = await readTasks(rows.slice(0, limit))
      const last = tasks.at(-1)
      const more = last !== undefined && rows.length > limit
      return {
        tasks,
        nextCursor: more ? formatRunCursor({ at: last.createdAt, runId: last.taskId }) : null
      }
    },
    ...createPushes(db, commit, claimant, skipDamaged),
    remove: (taskId) =>
      commit.writeAmongOthers(async (trx) => {
        await trx.deleteFrom('task').where('task_id', '=', taskId).execute()
      })
  }
}

function newest(db: Kysely<Tables>) {
  return db.selectFrom('task').selectAll().orderBy('created_at', 'desc').orderBy('task_id', 'desc')
}

/** The sender of a task's messages, and its registry. */
type Sender = Pick<StoredTask, 'registry' | 'owner'>

// Locks the task if other processes number its messages too.
async function senderOf(db: Kysely<Tables>, taskId: string, isShared: boolean): Promise<Sender | undefined> {
  const task = db.selectFrom('task').select(['registry', 'owner']).where('task_id', '=', taskId)
  return (isShared ? task.forUpdate() : task).executeTakeFirst()
}

async function taskOfMessage(
  db: Kysely<Tables>,
  { registry, owner }: Sender,
  messageId: string
): Promise<string | undefined> {
  const message = db
    .selectFrom('task_message')
    .select('task_id')
    .where('registry', '=', registry)
    .where('owner', '=', owner)
    .where('message_id', '=', messageId)
  return (await message.executeTakeFirst())?.task_id
}

/** Adds a message to a task, as its last one; false if its owner has sent it already. */
async function insertMessage(
  db: Kysely<Tables>,
  { registry, owner, taskId }: Sender & Pick<StoredTask, 'taskId'>,
  messageId: string,
  message: unknown
): Promise<boolean> {
  const { last } = await db
    .selectFrom('task_message')
    .select(({ fn, lit }) => fn.coalesce(fn.max('seq'), lit(0)).as('last'))
    .where('task_id', '=', taskId)
    .executeTakeFirstOrThrow()
  const row = {
    registry,
    owner,
    message_id: messageId,
    task_id: taskId,
    seq: last + 1,
    message: JSON.stringify(message)
  }
  const inserting = db.insertInto('task_message').values(row)
  const { numInsertedOrUpdatedRows } = await inserting
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === 1n
}

async function withMessages(
  db: Kysely<Tables>,
  rows: readonly Tables['task'][],
  skipDamaged: SkipDamaged
): Promise<StoredTask[]> {
  if (rows.length === 0) return []
  const ids = rows.map((row) => row.task_id)
  const messages = await db
    .selectFrom('task_message')
    .select(['task_id', 'seq', 'message'])
    .where('task_id', 'in', ids)
    .orderBy('seq')
    .execute()
  return rows.map((row) => ({
    taskId: row.task_id,
    contextId: row.context_id,
    registry: row.registry,
    owner: row.owner,
    agentName: row.agent_name,
    createdAt: row.created_at,
    messages: messages
      .filter((each) => each.task_id === row.task_id)
      .flatMap(({ task_id, seq, message: json }) => {
        const message = parseStored<unknown>(json)
        if (message === undefined) skipDamaged('task_message', `${task_id} ${seq}`)
        return message === undefined ? [] : [message]
      })
  }))
}
