import { Type, type Static, type TProperties } from '@sinclair/typebox'
import { AgentSessionSchema, orNull, SubagentSchema, TokenUsageSchema, TurnSchema } from './agent-schemas.ts'
import { OutputItemSchema, OutputTextSchema, SessionItemSchema, SummaryTextSchema } from './item-schemas.ts'

const event = <const T extends string, P extends TProperties>(type: T, fields: P) =>
  Type.Object({ type: Type.Literal(`agent.session.${type}`), event_id: Type.String(), ...fields })

const session = { session: AgentSessionSchema }
const turn = { session_id: Type.String(), turn_id: Type.String(), turn: TurnSchema }
const ended = { ...turn, usage: orNull(TokenUsageSchema) }
const subagent = { subagent: SubagentSchema }
const place = { session_id: Type.String(), turn_id: Type.String() }
const output = { ...place, item_id: Type.String(), output_index: Type.Integer() }
const content = { ...output, content_index: Type.Integer() }
const summary = { ...output, summary_index: Type.Integer() }

/** An event of a session. */
export const AgentSessionEventSchema = Type.Union(
  [
    event('created', session),
    event('idle', session),
    event('in_progress', session),
    event('requires_action', session),
    event('turn.created', turn),
    event('turn.in_progress', turn),
    event('turn.completed', ended),
    event('turn.failed', ended),
    event('turn.cancelled', ended),
    event('subagent.created', subagent),
    event('subagent.active', subagent),
    event('subagent.closed', subagent),
    event('turn.item.added', {
      ...place,
      output_index: orNull(Type.Integer()),
      item: SessionItemSchema
    }),
    event('turn.item.done', { ...place, output_index: Type.Integer(), item: OutputItemSchema }),
    event('turn.content_part.added', { ...content, part: OutputTextSchema }),
    event('turn.output_text.delta', { ...content, delta: Type.String() }),
    event('turn.output_text.done', { ...content, text: Type.String() }),
    event('turn.content_part.done', { ...content, part: OutputTextSchema }),
    event('turn.reasoning_summary_part.added', { ...summary, part: SummaryTextSchema }),
    event('turn.reasoning_summary_text.delta', { ...summary, delta: Type.String() }),
    event('turn.reasoning_summary_text.done', { ...summary, text: Type.String() }),
    event('turn.reasoning_summary_part.done', {
      ...summary,
      part: SummaryTextSchema,
      status: orNull(Type.Literal('incomplete'))
    })
  ],
  { title: 'AgentSessionEvent' }
)
export type AgentSessionEvent = Static<typeof AgentSessionEventSchema>

type WithoutId<E> = E extends { readonly event_id: string } ? Omit<E, 'event_id'> : never
/** An event before it has its id. */
export type MadeEvent = WithoutId<AgentSessionEvent>
