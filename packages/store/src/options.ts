import { Type, type Static } from '@sinclair/typebox'
import { requireOptions } from '@svc/registry/kit'
import { STO_ERR_BAD_OPTION } from './errors.ts'

/** Options of a store. */
export const StoreOptionsSchema = Type.Object(
  {
    url: Type.Optional(
      Type.String({
        description: '`sqlite:` and a path, or `sqlite::memory:`; default `sqlite:./data/app.db`'
      })
    ),
    durability: Type.Optional(
      Type.Union([Type.Literal('normal'), Type.Literal('full')], {
        description: '`normal` (default) survives every crash of the process, `full` also a power failure'
      })
    ),
    retention: Type.Optional(
      Type.Object(
        {
          maxAge: Type.Optional(
            Type.Integer({
              minimum: 0,
              description: 'Retention of finished runs in milliseconds; default 7 days'
            })
          ),
          maxRuns: Type.Optional(
            Type.Integer({ minimum: 0, description: 'Maximum number of finished runs; default 100,000' })
          ),
          maxBytes: Type.Optional(
            Type.Integer({
              minimum: 0,
              description: 'Maximum bytes of their logs, results and steps; default 1 GiB'
            })
          ),
          sessionMaxAge: Type.Optional(
            Type.Integer({
              minimum: 0,
              description:
                'Retention of a session after its last message in milliseconds; default 30 days, 0 keeps it forever'
            })
          ),
          memoryMaxItems: Type.Optional(
            Type.Integer({
              minimum: 1,
              description: 'Maximum number of memories per owner and agent; default 10,000'
            })
          ),
          memoryMaxAge: Type.Optional(
            Type.Integer({
              minimum: 0,
              description: 'Retention of a memory in milliseconds; default 365 days, 0 keeps it forever'
            })
          )
        },
        { additionalProperties: false }
      )
    )
  },
  { additionalProperties: false }
)
export type StoreOptions = Static<typeof StoreOptionsSchema>

/** Options with their defaults. */
export interface ResolvedOptions {
  /** The file; `:memory:` for none. */
  path: string
  durability: 'normal' | 'full'
  retention: Retention
}

/** The retention options, resolved. */
export type Retention = Required<NonNullable<StoreOptions['retention']>>

const DAY = 86_400_000
const DEFAULT_RETENTION: Retention = {
  maxAge: 7 * DAY,
  maxRuns: 100_000,
  maxBytes: 1_073_741_824,
  sessionMaxAge: 30 * DAY,
  memoryMaxItems: 10_000,
  memoryMaxAge: 365 * DAY
}

/** Validates options and fills in the defaults. @throws STO_ERR_BAD_OPTION */
export function resolveOptions(options: StoreOptions): ResolvedOptions {
  requireOptions(StoreOptionsSchema, options, STO_ERR_BAD_OPTION)
  const { url = 'sqlite:./data/app.db', durability = 'normal', retention } = options
  return { path: pathOf(url), durability, retention: { ...DEFAULT_RETENTION, ...retention } }
}

function pathOf(url: string): string {
  const path = /^sqlite:(?:\/\/(?=\/))?(.+)$/.exec(url)?.[1]
  if (path === undefined) throw new STO_ERR_BAD_OPTION('url: it must be `sqlite:` and a path')
  if (path.includes('\u0000')) throw new STO_ERR_BAD_OPTION('url: the path has a null character')
  return path
}
