import { Type, type Static } from '@sinclair/typebox'
import { findFaults, formatFaults, IdSchema, RunBodySchema } from '@svc/contract'
import { AGUI_ERR_BAD_REQUEST } from '../errors.ts'

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

const run = RunBodySchema.properties
// Clients before 1.0 send null for what is absent.
const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Optional(Type.Union([schema, Type.Null()]))

/** What a request says of its run beside the protocol: `forwardedProps.svc`. */
const SvcPropsSchema = Type.Object(
  {
    input: run.input,
    userId: run.userId,
    apiKey: run.apiKey,
    onDisconnect: run.onDisconnect,
    whenBusy: run.whenBusy,
    metadata: run.metadata,
    afterTurn: run.afterTurn
  },
  {
    title: 'SvcProps',
    additionalProperties: false,
    description:
      'What a request says of its run beside the protocol. `input` replaces the last message: for runnables with an input schema'
  }
)
export type SvcProps = Static<typeof SvcPropsSchema>

/** The answer to an interrupt. */
const ResumeEntrySchema = Type.Object(
  {
    interruptId: IdSchema,
    status: Type.Union([Type.Literal('resolved'), Type.Literal('cancelled')]),
    payload: Type.Optional(Type.Unknown())
  },
  { title: 'ResumeEntry' }
)
export type ResumeEntry = Static<typeof ResumeEntrySchema>

/** A tool of the client. */
const ToolSchema = Type.Object(
  {
    name: Type.String(),
    description: Type.String(),
    parameters: nullable(
      Type.Object({}, { additionalProperties: true, description: 'JSON Schema of the arguments' })
    )
  },
  { title: 'Tool' }
)
export type AgUiTool = Static<typeof ToolSchema>

/** The request of a run. Unknown fields are ignored. */
export const RunAgentInputSchema = Type.Object(
  {
    threadId: Type.String({ ...IdSchema, description: 'The session' }),
    runId: Type.String({
      ...IdSchema,
      description: 'Makes the request idempotent: the run has an id of its own'
    }),
    protocolVersion: Type.Optional(
      Type.String({ description: 'That of the client; absent before version 1.0' })
    ),
    state: Type.Optional(Type.Unknown({ description: 'Reaches the agent in its envelope' })),
    messages: Type.Array(AgUiMessageSchema, {
      description:
        'The last one is sent, or the last tool messages are answers; the session keeps those before'
    }),
    tools: nullable(
      Type.Array(ToolSchema, { description: 'Tools that the client serves, where they are accepted' })
    ),
    context: nullable(
      Type.Array(Type.Object({ description: Type.String(), value: Type.String() }, { title: 'Context' }), {
        maxItems: 256,
        description: 'Reaches the agent in its envelope'
      })
    ),
    // What is in `svc` is checked apart, so that its faults are the ones reported.
    forwardedProps: Type.Optional(
      Type.Union(
        [
          Type.Object(
            { svc: Type.Optional(SvcPropsSchema) },
            { title: 'ForwardedProps', additionalProperties: true }
          ),
          Type.Unknown()
        ],
        { description: 'Reaches the agent in its envelope, as metadata, except `svc`' }
      )
    ),
    resume: nullable(
      Type.Array(ResumeEntrySchema, { maxItems: 256, description: 'Answers to what the run waits for' })
    )
  },
  { title: 'RunAgentInput' }
)
export type RunAgentInput = Static<typeof RunAgentInputSchema>

/** What a request says of its run, and the properties that it forwards to the agent, if any. @throws AGUI_ERR_BAD_REQUEST */
export function readForwarded({ forwardedProps }: RunAgentInput): {
  svc: SvcProps
  metadata?: Readonly<Record<string, unknown>>
} {
  if (typeof forwardedProps !== 'object' || forwardedProps === null || Array.isArray(forwardedProps))
    return { svc: {} }
  const { svc = {}, ...metadata } = forwardedProps as Record<string, unknown>
  const faults = findFaults(SvcPropsSchema, svc)
  if (faults.length > 0) throw new AGUI_ERR_BAD_REQUEST(`forwardedProps.svc: ${formatFaults(faults)}`)
  return { svc: svc as SvcProps, ...(Object.keys(metadata).length > 0 && { metadata }) }
}

/** True if a client knows the outcomes of version 1.0. */
export function knowsOutcomes(protocolVersion: string | undefined): boolean {
  return protocolVersion !== undefined && /^[1-9]\d*\.\d+$/.test(protocolVersion)
}
