import type { ItemPage } from '@svc/surface'
import { OPENAI_ERR_BAD_CURSOR } from '../../errors.ts'
import type { PageQuery } from './request-schemas.ts'

/** How a list is read, with its defaults. */
export function toPageQuery({ after, limit = 20, order = 'desc' }: PageQuery) {
  return { after, limit, order } as const
}

/** A page as the protocol has it. @throws OPENAI_ERR_BAD_CURSOR if there is none */
export function toPage<T extends { readonly id: string | null }>(
  page: ItemPage<T> | undefined,
  after: string | undefined
) {
  if (page === undefined) throw new OPENAI_ERR_BAD_CURSOR(after ?? '')
  const { items, hasMore } = page
  return {
    object: 'list',
    data: items,
    first_id: items[0]?.id ?? null,
    last_id: items.at(-1)?.id ?? null,
    has_more: hasMore
  } as const
}

/** A page of a list that is in memory. */
export function pageOf<T extends { readonly id: string }>(all: readonly T[], query: PageQuery) {
  const { after, limit, order } = toPageQuery(query)
  const sorted = order === 'asc' ? all : all.toReversed()
  const at = after === undefined ? 0 : sorted.findIndex(({ id }) => id === after) + 1
  if (after !== undefined && at === 0) throw new OPENAI_ERR_BAD_CURSOR(after)
  const items = sorted.slice(at, at + limit)
  return toPage({ items, hasMore: at + limit < sorted.length }, after)
}

/** For a list that begins after an id: what it is refused with if no turn has that. */
export function toBadCursor(after: string | undefined) {
  return (err: unknown): never => {
    throw after !== undefined && (err as { code?: unknown }).code === 'RUN_ERR_NOT_FOUND'
      ? new OPENAI_ERR_BAD_CURSOR(after)
      : err
  }
}
