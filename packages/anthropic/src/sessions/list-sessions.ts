import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { defined, type Principal, type StoredSession } from '@svc/contract'
import { ownerOfSessions, readRunnableId, type WireSurface } from '@svc/surface'
import { VERSION } from '../agents/agent-object.ts'
import { ANTHROPIC_ERR_UNSUPPORTED } from '../errors.ts'
import { DEFAULT_LIMIT, isCreatedWithin, readCursor, toCursor, valuesOf } from '../wire/lists.ts'
import { readSettings } from './session-settings.ts'
import { toSessionObject } from './session-object.ts'
import type { SessionObject, SessionsQuery } from './session-schemas.ts'

/** Where a page begins: the cursor of the store, and those of the pages before it, the last one first. */
const PlaceSchema = Type.Object({
  at: Type.Union([Type.String(), Type.Null()]),
  back: Type.Array(Type.Union([Type.String(), Type.Null()]), { maxItems: 32 })
})
interface Place {
  readonly at: string | null
  readonly back: readonly (string | null)[]
}
const isPlace = (value: unknown): value is Place => Value.Check(PlaceSchema, value)

// Sessions looked at for one page: filters may leave out many.
const LOOKED_AT = 1_000
const MAX_BACK = 32

/**
 * A page of the caller's sessions, by their last change. Going back is possible over the last 32 pages.
 * @throws ANTHROPIC_ERR_UNSUPPORTED, ANTHROPIC_ERR_BAD_PAGE, RUN_ERR_SESSIONS_NOT_KEPT, RUN_ERR_STORE
 */
export async function listSessions(
  surface: WireSurface,
  { limit = DEFAULT_LIMIT, page, beta: _, ...filter }: SessionsQuery,
  caller: Principal
): Promise<{ data: SessionObject[]; next_page: string | null; prev_page: string | null }> {
  if (filter.memory_store_id !== undefined) throw new ANTHROPIC_ERR_UNSUPPORTED('the filter memory_store_id')
  const list = ['sessions', filter]
  const { at, back } = readCursor(list, page, isPlace) ?? { at: null, back: [] }
  const pageAt = (place: Place) => toCursor(list, place)
  const { data, next } = await collect(surface, filter, limit, at, caller)
  const [before, ...earlier] = back
  return {
    data,
    next_page: next === null ? null : pageAt({ at: next, back: [at, ...back].slice(0, MAX_BACK) }),
    prev_page: before === undefined ? null : pageAt({ at: before, back: earlier })
  }
}

type Filter = Omit<SessionsQuery, 'limit' | 'page' | 'beta'>

async function collect(
  surface: WireSurface,
  filter: Filter,
  limit: number,
  from: string | null,
  caller: Principal
): Promise<{ data: SessionObject[]; next: string | null }> {
  const { runs, exposed } = surface
  const { agent_id: agent, agent_version: version, order } = filter
  const data: SessionObject[] = []
  if (agent !== undefined && version !== undefined && version !== VERSION) return { data, next: null }
  const named = agent === undefined ? {} : readRunnableId(agent)
  const common = { owner: ownerOfSessions(surface, caller, undefined), scope: exposed.scope(), ...named }
  let cursor = from
  let last: StoredSession | undefined
  for (let left = LOOKED_AT; ; left -= limit + 1) {
    const { sessions, nextCursor } = await runs.sessions.list({
      ...common,
      limit: Math.min(limit + 1, LOOKED_AT),
      ...defined({ order, cursor: cursor ?? undefined })
    })
    for (const session of sessions) {
      const object = await toListed(surface, session, filter)
      if (data.length === limit && object !== undefined)
        return { data, next: await runs.sessions.cursorAfter(last!) }
      last = session
      if (object !== undefined) data.push(object)
    }
    if (nextCursor === null) return { data, next: null }
    if (left <= 0) return { data, next: nextCursor }
    cursor = nextCursor
  }
}

// Undefined if the filters leave it out.
async function toListed(
  surface: WireSurface,
  session: StoredSession,
  filter: Filter
): Promise<SessionObject | undefined> {
  if (!isCreatedWithin(session.createdAt, filter)) return undefined
  const settings = readSettings(await surface.runs.sessions.settings(session))
  if (settings.archivedAt !== undefined && filter.include_archived !== 'true') return undefined
  const object = await toSessionObject(surface, session, settings)
  const { deployment_id: deployment } = filter
  if (deployment !== undefined && deployment !== object.deployment_id) return undefined
  const statuses = valuesOf(filter.statuses, filter['statuses[]'])
  return statuses === undefined || statuses.includes(object.status) ? object : undefined
}
