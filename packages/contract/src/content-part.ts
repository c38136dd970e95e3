import { Type, type Static } from '@sinclair/typebox'

/** A piece of text. */
export const TextContentPartSchema = Type.Object(
  { type: Type.Literal('text'), text: Type.String() },
  { additionalProperties: false }
)

const NAME = String.raw`[\w!#$&^.+-]+`

/** The pattern of a media type, with parameters: RFC 6838, section 4.2. */
export const MIME_TYPE = String.raw`${NAME}/${NAME}(?:[ \t]*;[ \t]*${NAME}=(?:${NAME}|"[^"\r\n]*"))*`

const media = {
  mimeType: Type.String({
    maxLength: 255,
    pattern: `^${MIME_TYPE}$`,
    description: 'A media type: `image/png`'
  }),
  filename: Type.Optional(Type.String({ maxLength: 1024 }))
}
const mediaType = Type.Union([Type.Literal('image'), Type.Literal('audio'), Type.Literal('file')])

/** Binary content, given as base64 in `data`. */
export const DataContentPartSchema = Type.Object(
  // A single character class: a repeated group would need a stack as deep as the data is long.
  {
    type: mediaType,
    ...media,
    data: Type.String({ pattern: '^(?:[A-Za-z0-9+/]+={0,2})?$', description: 'Base64, RFC 4648, section 4' })
  },
  { additionalProperties: false }
)

/** Binary content, given by its URL. */
export const UrlContentPartSchema = Type.Object(
  { type: mediaType, ...media, url: Type.String({ minLength: 1, maxLength: 8192 }) },
  { additionalProperties: false }
)

/** One piece of a multi-modal message. */
export const ContentPartSchema = Type.Union(
  [TextContentPartSchema, DataContentPartSchema, UrlContentPartSchema],
  { title: 'ContentPart' }
)
export type ContentPart = Static<typeof ContentPartSchema>

/** A client's message to an agent or team: a text, or a list of content parts. Neither may be empty or blank. */
export const MessageInputSchema = Type.Union(
  [Type.String({ pattern: String.raw`\S` }), Type.Array(ContentPartSchema, { minItems: 1 })],
  { title: 'MessageInput' }
)
export type MessageInput = Static<typeof MessageInputSchema>

/** The content of an uploaded file; readable any number of times until the run ends. */
export interface FileContent {
  /** Bytes. */
  readonly size: number
  /** The SHA-256 of the content in hexadecimal digits, if it is known without reading it. */
  readonly sha256?: string
  /** Reads the content from its start. */
  stream(): AsyncIterable<Uint8Array>
}

/** Uploaded binary content, on disk. Clients cannot send it as JSON. */
export const FileContentPartSchema = Type.Object(
  {
    type: mediaType,
    ...media,
    file: Type.Unsafe<FileContent>(
      Type.Object({
        size: Type.Integer({ minimum: 0 }),
        sha256: Type.Optional(Type.String()),
        stream: Type.Function([], Type.Unknown())
      })
    )
  },
  { additionalProperties: false }
)
export type FileContentPart = Static<typeof FileContentPartSchema>

/** Input of agents and teams: a client's message, or one with uploaded files. */
export const AcceptedMessageSchema = Type.Union([
  MessageInputSchema,
  Type.Array(Type.Union([ContentPartSchema, FileContentPartSchema]), { minItems: 1 })
])
export type AcceptedMessage = Static<typeof AcceptedMessageSchema>

/** Input of a runnable: a message, or any JSON value that fits its own `inputSchema`. */
export type RunInput = AcceptedMessage | unknown

/** Whether a text says nothing. */
export function isBlank(text: string): boolean {
  return !/\S/.test(text)
}

/** The text of an input: a string as it is, the text parts of a list joined by newlines, any other value as JSON. */
export function textOfInput(input: RunInput): string {
  if (typeof input === 'string') return input
  if (!Array.isArray(input)) return JSON.stringify(input) ?? ''
  return input
    .filter((part): part is Static<typeof TextContentPartSchema> => part?.type === 'text')
    .map((part) => part.text)
    .join('\n')
}
