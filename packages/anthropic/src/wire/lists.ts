import { Type, type Static, type TProperties, type TSchema } from '@sinclair/typebox'
import { ANTHROPIC_ERR_BAD_PAGE } from '../errors.ts'

const DATE = String.raw`\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])`
const TIME = String.raw`(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?`
const time = Type.Optional(
  Type.String({ pattern: `^${DATE}[Tt]${TIME}(?:[Zz]|[+-]\\d\\d:\\d\\d)$`, description: 'RFC 3339' })
)

/** Filters by the time of creation. */
export const CREATED = {
  'created_at[gt]': time,
  'created_at[gte]': time,
  'created_at[lt]': time,
  'created_at[lte]': time
}
type CreatedQuery = { readonly [K in keyof typeof CREATED]?: string }

/** True if a time, in milliseconds since the epoch, fits the filters. */
export function isCreatedWithin(at: number, query: CreatedQuery): boolean {
  const { 'created_at[gt]': gt, 'created_at[gte]': gte, 'created_at[lt]': lt, 'created_at[lte]': lte } = query
  return (
    (gt === undefined || at > Date.parse(gt)) &&
    (gte === undefined || at >= Date.parse(gte)) &&
    (lt === undefined || at < Date.parse(lt)) &&
    (lte === undefined || at <= Date.parse(lte))
  )
}

/** The query of a route. Clients of some languages add `beta=true` to each request. */
export function queryOf<P extends TProperties>(properties: P) {
  return Type.Object(
    { ...properties, beta: Type.Optional(Type.String({ description: 'Ignored' })) },
    { additionalProperties: false }
  )
}

/** Items of a page, unless its request says. */
export const DEFAULT_LIMIT = 20

/** The query of a list. */
export function listQueryOf<P extends TProperties>(properties: P) {
  return queryOf({
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000, description: 'Default 20' })),
    page: Type.Optional(Type.String({ maxLength: 2_048, description: 'The `next_page` of the page before' })),
    ...properties
  })
}

/** A parameter that may be repeated, with and without the brackets that clients write behind its name. */
export function repeated<T extends TSchema>(item: T, maxItems = 64) {
  return Type.Optional(Type.Union([item, Type.Array(item, { maxItems })]))
}

/** The values of a parameter that may be repeated; undefined if it is not there. */
export function valuesOf<T>(...given: readonly (T | readonly T[] | undefined)[]): readonly T[] | undefined {
  const values = given.flatMap((each) => each ?? [])
  return values.length === 0 ? undefined : values
}

const cursor = Type.Union([Type.String(), Type.Null()])

/** One page of a list. */
export function pageOf<T extends TSchema>(item: T, title: string) {
  return Type.Object({ data: Type.Array(item), next_page: cursor }, { title })
}

/** One page of a list that is read in both directions. */
export function pageBothWays<T extends TSchema>(item: T, title: string) {
  return Type.Object({ data: Type.Array(item), next_page: cursor, prev_page: cursor }, { title })
}
export type Page<T> = Static<ReturnType<typeof pageOf>> & { data: T[] }

/** The cursor of a place in a list. @param list its name, with the parameters that its pages have in common */
export function toCursor(list: readonly unknown[], place: unknown): string {
  return Buffer.from(JSON.stringify([list, place])).toString('base64url')
}

/** The place of a cursor; undefined without one. @throws ANTHROPIC_ERR_BAD_PAGE if it is of another list */
export function readCursor<T>(
  list: readonly unknown[],
  page: string | undefined,
  isPlace: (value: unknown) => value is T
): T | undefined {
  if (page === undefined || page === '') return undefined
  const [of, place] = parse(page)
  if (JSON.stringify(of) !== JSON.stringify(list) || !isPlace(place)) throw new ANTHROPIC_ERR_BAD_PAGE()
  return place
}

function parse(page: string): unknown[] {
  try {
    const read = JSON.parse(Buffer.from(page, 'base64url').toString()) as unknown
    return Array.isArray(read) ? read : []
  } catch {
    return []
  }
}
