import { Type, type Static } from '@sinclair/typebox'

/** A message of a thread: only what a request needs of it is read. */
export const AgUiMessageSchema = Type.Object(
  {
    id: Type.String(),
    role: Type.Union([
      Type.Literal('developer'),
      Type.Literal('system'),
      Type.Literal('user'),
      Type.Literal('assistant'),
      Type.Literal('tool'),
      Type.Literal('reasoning'),
      Type.Literal('activity')
    ]),
    content: Type.Optional(Type.Unknown({ description: 'A text, or a list of content parts' })),
    toolCallId: Type.Optional(Type.String({ description: 'Of a tool message: the call that it answers' })),
    error: Type.Optional(
      Type.Union([Type.String(), Type.Null()], { description: 'Of a tool message: why the call failed' })
    )
  },
  { title: 'Message' }
)
export type AgUiMessage = Static<typeof AgUiMessageSchema>
