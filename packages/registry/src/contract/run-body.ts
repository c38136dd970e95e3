import { Type, type Static } from '@sinclair/typebox'

// Control characters have no place in an id.
// oxlint-disable-next-line no-control-regex -- control characters are what it excludes
const ID_PATTERN = '^[^\\u0000-\\u001f\\u007f-\\u009f]+$'
const id = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 256, pattern: ID_PATTERN, description }))

/** What happens to a run whose client goes away. */
export const OnDisconnectSchema = Type.Union([Type.Literal('cancel'), Type.Literal('continue')], {
  title: 'OnDisconnect'
})
export type OnDisconnect = Static<typeof OnDisconnectSchema>

/** What a run is started with. */
export const RunBodySchema = Type.Object(
  {
    input: Type.Unknown({
      description: 'A message (a string, or a list of content parts), or the JSON that the runnable asks for'
    }),
    sessionId: id('The conversation to go on with; default a new one'),
    userId: id('Separates sessions where there are no credentials'),
    apiKey: Type.Optional(
      // It goes into a header.
      Type.String({
        pattern: '^[!-~]+$',
        maxLength: 4096,
        description: 'A key of your own for the model provider'
      })
    ),
    onDisconnect: Type.Optional(OnDisconnectSchema)
  },
  { title: 'RunBody', additionalProperties: false, examples: [{ input: 'Hello' }] }
)
export type RunBody = Static<typeof RunBodySchema>
