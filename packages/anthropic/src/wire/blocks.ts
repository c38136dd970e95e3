import { Type, type Static } from '@sinclair/typebox'

const text = (description?: string) => Type.String(description === undefined ? {} : { description })
const nullable = Type.Optional(Type.Union([Type.String(), Type.Null()]))

export const TextBlockSchema = Type.Object(
  { type: Type.Literal('text'), text: Type.String() },
  { title: 'TextBlock', additionalProperties: false }
)
export type TextBlock = Static<typeof TextBlockSchema>

const UrlSourceSchema = Type.Object(
  { type: Type.Literal('url'), url: Type.String({ minLength: 1, maxLength: 8_192 }) },
  { additionalProperties: false }
)
const Base64SourceSchema = Type.Object(
  { type: Type.Literal('base64'), media_type: text('A media type: `image/png`'), data: text('Base64') },
  { additionalProperties: false }
)
const FileSourceSchema = Type.Object(
  { type: Type.Literal('file'), file_id: text('Refused: the service keeps no uploaded files for sessions') },
  { additionalProperties: false }
)
const PlainSourceSchema = Type.Object(
  { type: Type.Literal('text'), media_type: Type.Literal('text/plain'), data: text() },
  { additionalProperties: false }
)

const ImageBlockSchema = Type.Object(
  {
    type: Type.Literal('image'),
    source: Type.Union([Base64SourceSchema, UrlSourceSchema, FileSourceSchema])
  },
  { title: 'ImageBlock', additionalProperties: false }
)
const DocumentBlockSchema = Type.Object(
  {
    type: Type.Literal('document'),
    source: Type.Union([Base64SourceSchema, PlainSourceSchema, UrlSourceSchema, FileSourceSchema]),
    context: nullable,
    title: nullable
  },
  { title: 'DocumentBlock', additionalProperties: false }
)
const RedactedBlockSchema = Type.Object(
  { type: Type.Literal('redacted') },
  { title: 'RedactedBlock', additionalProperties: false }
)
const SearchResultBlockSchema = Type.Object(
  {
    type: Type.Literal('search_result'),
    title: text(),
    source: text(),
    citations: Type.Object({ enabled: Type.Boolean() }),
    content: Type.Array(TextBlockSchema)
  },
  { title: 'SearchResultBlock', additionalProperties: false }
)

/** A block of a message of the user. */
export const UserBlockSchema = Type.Union([
  TextBlockSchema,
  ImageBlockSchema,
  DocumentBlockSchema,
  RedactedBlockSchema
])
export type UserBlock = Static<typeof UserBlockSchema>

/** A block of the result of a tool. */
export const ResultBlockSchema = Type.Union([
  TextBlockSchema,
  ImageBlockSchema,
  DocumentBlockSchema,
  SearchResultBlockSchema
])
export type ResultBlock = Static<typeof ResultBlockSchema>

/** A text as the blocks of a message. */
export function toBlocks(value: string): TextBlock[] {
  return [{ type: 'text', text: value }]
}
