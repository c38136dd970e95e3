import { Type, type Static } from '@sinclair/typebox'
import { ClientToolsSchema } from './inputs.ts'
import { RunMetadataSchema } from './part.ts'
import { ConversationSchema } from './ports/session-store.ts'
import { NewWebhookSchema } from './webhook.ts'

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

/** Tokens over which a caller wants prompts compacted. */
export const CompactAtSchema = Type.Integer({
  minimum: 1_000,
  description: 'Tokens of a prompt over which it is compacted; only lowers the threshold of the agent or team'
})

// No control characters.
// oxlint-disable-next-line no-control-regex -- control characters are what it excludes
const ID_PATTERN = '^[^\\u0000-\\u001f\\u007f-\\u009f]+$'
const ID = { minLength: 1, maxLength: 256, pattern: ID_PATTERN }
/** An id that a caller chooses: of a session, a user or a run. */
export const IdSchema = Type.String(ID)
/** An optional id that a caller chooses. */
export const optionalId = (description: string) => Type.Optional(Type.String({ ...ID, description }))

/** What happens to a run when its client disconnects. */
export const OnDisconnectSchema = Type.Union([Type.Literal('cancel'), Type.Literal('continue')], {
  title: 'OnDisconnect'
})
export type OnDisconnect = Static<typeof OnDisconnectSchema>

/** What happens to a message while another run has the turn of its session. */
export const WhenBusySchema = Type.Union(
  [
    Type.Literal('queue'),
    Type.Literal('reject'),
    Type.Literal('steer'),
    Type.Literal('interrupt'),
    Type.Literal('replace')
  ],
  {
    title: 'WhenBusy',
    description:
      'What happens while another run of the session is under way: `queue` waits for its end, `reject` refuses the message (409), `steer` has it join the run before its next model call, `interrupt` cancels the run and keeps what it said in the session, `replace` cancels it and keeps nothing'
  }
)
export type WhenBusy = Static<typeof WhenBusySchema>

/** The turn of the session that a run continues. */
export const AfterTurnSchema = Type.Union([Type.String(ID), Type.Null()], {
  description:
    'The run of the session after whose turn this one continues, on a branch of its own unless that is the newest turn; null for the beginning. Default: the newest turn. Only with `sessionId`'
})

/** A caller's own instructions for one run. */
export const InstructionsSchema = Type.String({
  minLength: 1,
  maxLength: 65_536,
  description: 'Follow the agent’s own instructions, for this run. Only where the service accepts them'
})

/** The request that starts a run. */
export const RunBodySchema = Type.Object(
  {
    input: Type.Optional(
      Type.Unknown({
        description:
          'A message (a string, or a list of content parts), or JSON that fits the runnable’s input schema. May be omitted if `messages` ends with a user message, with the results of tool calls or with the beginning of an answer'
      })
    ),
    sessionId: optionalId('The conversation to continue; default a new one'),
    afterTurn: Type.Optional(AfterTurnSchema),
    userId: optionalId('Separates the sessions of callers without credentials'),
    apiKey: Type.Optional(
      // Sent in a header.
      Type.String({
        pattern: '^[!-~]+$',
        maxLength: 4096,
        description: 'Your own key for the model provider'
      })
    ),
    onDisconnect: Type.Optional(OnDisconnectSchema),
    whenBusy: Type.Optional(WhenBusySchema),
    metadata: Type.Optional(RunMetadataSchema),
    webhook: Type.Optional(NewWebhookSchema),
    messages: Type.Optional(ConversationSchema),
    instructions: Type.Optional(InstructionsSchema),
    tools: Type.Optional(ClientToolsSchema),
    toolChoice: Type.Optional(ToolChoiceSchema),
    stop: Type.Optional(StopTextsSchema),
    compactAt: Type.Optional(CompactAtSchema)
  },
  { title: 'RunBody', additionalProperties: false, examples: [{ input: 'Hello' }] }
)
export type RunBody = Static<typeof RunBodySchema>
