import { Type } from '@sinclair/typebox'
import { MIME_TYPE } from './content-part.ts'

/** A media type, or a wildcard for several. */
export const MediaRangeSchema = Type.String({
  maxLength: 255,
  pattern: String.raw`^(?:\*/\*|[\w!#$&^.+-]+/\*|${MIME_TYPE})$`,
  description: 'A media type or a wildcard: `image/png`, `image/*`, `*/*`'
})

/** An absolute URL of HTTP. */
const HttpUrlSchema = Type.String({ maxLength: 8192, pattern: '^https?://[^\\s/?#]\\S*$' })

const texts = Type.Array(Type.String({ minLength: 1 }))

/** What discovery documents, such as the agent cards of A2A, say of a runnable; nothing in it changes its runs. */
export interface RunnableCard {
  /** Its name for people; default: `name`. */
  readonly title?: string | undefined
  /** Keywords; default: its kind. */
  readonly tags?: readonly string[] | undefined
  /** Inputs that it can handle, for people to try. */
  readonly examples?: readonly string[] | undefined
  /** Media types of its inputs, with wildcards such as `image/*`; default: those of the service. */
  readonly inputModes?: readonly string[] | undefined
  /** Media types of its outputs; default: those of the service. */
  readonly outputModes?: readonly string[] | undefined
  /** The URL of its documentation. */
  readonly documentationUrl?: string | undefined
  /** The URL of its icon. */
  readonly iconUrl?: string | undefined
  /**
   * The credentials that it needs, if not those of the service: one of these is enough, and each names security schemes of the
   * service, with the scopes to have.
   */
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[] | undefined
}

const fields = {
  title: Type.Optional(Type.String({ minLength: 1 })),
  tags: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { minItems: 1 })),
  examples: Type.Optional(texts),
  inputModes: Type.Optional(Type.Array(MediaRangeSchema, { minItems: 1 })),
  outputModes: Type.Optional(Type.Array(MediaRangeSchema, { minItems: 1 })),
  documentationUrl: Type.Optional(HttpUrlSchema),
  iconUrl: Type.Optional(HttpUrlSchema),
  security: Type.Optional(Type.Array(Type.Record(Type.String(), Type.Array(Type.String()))))
} satisfies Record<keyof RunnableCard, unknown>

export const RunnableCardSchema = Type.Unsafe<RunnableCard>(
  Type.Object(fields, { additionalProperties: false, title: 'RunnableCard' })
)
