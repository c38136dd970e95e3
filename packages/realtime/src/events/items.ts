import { Type, type Static } from '@sinclair/typebox'

const strict = { additionalProperties: false } as const
const status = Type.Union([
  Type.Literal('completed'),
  Type.Literal('incomplete'),
  Type.Literal('in_progress')
])
const object = { object: Type.Optional(Type.Literal('realtime.item')) }
/** Ids of the protocol have at most 32 characters; longer ones are taken, too. */
export const ItemIdSchema = Type.String({ minLength: 1, maxLength: 128 })

const InputTextSchema = Type.Object({ type: Type.Literal('input_text'), text: Type.String() }, strict)
const InputAudioSchema = Type.Object(
  {
    type: Type.Literal('input_audio'),
    audio: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    transcript: Type.Optional(Type.Union([Type.String(), Type.Null()]))
  },
  strict
)
const InputImageSchema = Type.Object(
  {
    type: Type.Literal('input_image'),
    image_url: Type.Optional(Type.String()),
    detail: Type.Optional(Type.Union([Type.Literal('auto'), Type.Literal('low'), Type.Literal('high')]))
  },
  strict
)
const OutputTextSchema = Type.Object({ type: Type.Literal('output_text'), text: Type.String() }, strict)
const OutputAudioSchema = Type.Object(
  {
    type: Type.Literal('output_audio'),
    audio: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    transcript: Type.Optional(Type.Union([Type.String(), Type.Null()]))
  },
  strict
)

const message = { type: Type.Literal('message'), status: Type.Optional(status), ...object }

/** A message of the user; spoken ones have the transcript only. */
export const UserMessageSchema = Type.Object(
  {
    id: Type.Optional(ItemIdSchema),
    ...message,
    role: Type.Literal('user'),
    content: Type.Array(Type.Union([InputTextSchema, InputAudioSchema, InputImageSchema]), { maxItems: 64 })
  },
  { ...strict, title: 'UserMessage' }
)

/** A system message. */
const SystemMessageSchema = Type.Object(
  {
    id: Type.Optional(ItemIdSchema),
    ...message,
    role: Type.Literal('system'),
    content: Type.Array(InputTextSchema, { maxItems: 64 })
  },
  { ...strict, title: 'SystemMessage' }
)

/** An answer of the agent. */
export const AssistantMessageSchema = Type.Object(
  {
    id: Type.Optional(ItemIdSchema),
    ...message,
    role: Type.Literal('assistant'),
    content: Type.Array(Type.Union([OutputTextSchema, OutputAudioSchema]), { maxItems: 64 })
  },
  { ...strict, title: 'AssistantMessage' }
)

/** A call of a tool that the client serves. */
const FunctionCallSchema = Type.Object(
  {
    id: Type.Optional(ItemIdSchema),
    type: Type.Literal('function_call'),
    status: Type.Optional(status),
    ...object,
    call_id: Type.Optional(Type.String()),
    name: Type.String(),
    arguments: Type.String({ description: 'JSON' })
  },
  { ...strict, title: 'FunctionCall' }
)

/** The output of such a call. */
export const FunctionCallOutputSchema = Type.Object(
  {
    id: Type.Optional(ItemIdSchema),
    type: Type.Literal('function_call_output'),
    status: Type.Optional(status),
    ...object,
    call_id: Type.String({ minLength: 1 }),
    output: Type.String({ description: 'Text or JSON; it is the result of the tool' })
  },
  { ...strict, title: 'FunctionCallOutput' }
)

/** An item of a conversation. */
export const ItemSchema = Type.Union([
  UserMessageSchema,
  SystemMessageSchema,
  AssistantMessageSchema,
  FunctionCallSchema,
  FunctionCallOutputSchema
])
export type Item = Static<typeof ItemSchema>
export type UserMessage = Static<typeof UserMessageSchema>
export type AssistantMessage = Static<typeof AssistantMessageSchema>
export type FunctionCallOutput = Static<typeof FunctionCallOutputSchema>
