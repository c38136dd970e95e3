import { Type, type Static } from '@sinclair/typebox'

/** The maximum number of tools of one caller. */
const MAX_TOOLS = 64

/** A tool that the caller of a run serves: a call of it waits for the caller's answer, which is its result. */
export const ClientToolSchema = Type.Object(
  {
    name: Type.String({
      pattern: '^[A-Za-z0-9_-]{1,64}$',
      description: '1–64 letters, digits, `_` and `-`; none that the agent has'
    }),
    description: Type.String({ maxLength: 4_096, description: 'Shown to the model' }),
    input: Type.Unsafe<Readonly<Record<string, unknown>>>(
      Type.Object(
        { type: Type.Literal('object') },
        { description: 'JSON Schema of the arguments, an object', additionalProperties: true }
      )
    )
  },
  { title: 'ClientTool', additionalProperties: false }
)
export type ClientTool = Static<typeof ClientToolSchema>

/** The tools of a caller. */
export const ClientToolsSchema = Type.Array(ClientToolSchema, {
  maxItems: MAX_TOOLS,
  description: 'Tools that you serve: a call waits for your answer. Only where the service accepts them'
})
