import { Type, type Static } from '@sinclair/typebox'

/** Whether the model may call tools, must call one, or must call this one. */
export const ToolChoiceSchema = Type.Union(
  [
    Type.Literal('auto'),
    Type.Literal('none'),
    Type.Literal('required'),
    Type.Object(
      { type: Type.Optional(Type.Literal('tool')), toolName: Type.String({ minLength: 1, maxLength: 256 }) },
      { additionalProperties: false }
    )
  ],
  {
    title: 'ToolChoice',
    description:
      'Whether the model calls tools. `required` and `{ toolName }` apply to the first step; `required` to each step until a tool of yours is called, if you serve any'
  }
)
export type ToolChoice = Static<typeof ToolChoiceSchema>

/** Why a choice cannot be followed with tools of these names; undefined if it can. */
export function findChoiceFault(choice: ToolChoice, names: readonly string[]): string | undefined {
  if (choice === 'auto' || choice === 'none') return undefined
  const known = names.length === 0 ? 'there are no tools' : `there are ${names.join(', ')}`
  if (choice === 'required') return names.length > 0 ? undefined : known
  return names.includes(choice.toolName) ? undefined : `there is no tool "${choice.toolName}"; ${known}`
}

/** Texts that end an answer. */
export const StopTextsSchema = Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
  maxItems: 4,
  description: 'Texts that end an answer of the model: the first one, and all after it, is left out'
})
