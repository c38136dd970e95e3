import { Type, type Static } from '@sinclair/typebox'

const strict = { additionalProperties: false } as const
const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Union([schema, Type.Null()])

/** Raw audio with one channel: PCM with 16 bits at 8,000 to 48,000 Hz, or G.711 at 8,000 Hz. */
export const AudioFormatSchema = Type.Object(
  {
    type: Type.Union([Type.Literal('audio/pcm'), Type.Literal('audio/pcmu'), Type.Literal('audio/pcma')]),
    rate: Type.Optional(Type.Integer({ description: 'Hz; default 24,000 for PCM' }))
  },
  strict
)

const answering = {
  create_response: Type.Optional(Type.Boolean({ description: 'Answer each turn; default true' })),
  interrupt_response: Type.Optional(Type.Boolean({ description: 'Speech interrupts; default true' }))
}

/** How the turns of the user are found; null: each turn ends with a `commit`. */
export const TurnDetectionSchema = Type.Union([
  Type.Object(
    {
      type: Type.Literal('server_vad'),
      ...answering,
      threshold: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
      prefix_padding_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: 5_000 })),
      silence_duration_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: 10_000 })),
      idle_timeout_ms: Type.Optional(nullable(Type.Integer({ minimum: 0 })))
    },
    strict
  ),
  Type.Object(
    {
      type: Type.Literal('semantic_vad'),
      ...answering,
      eagerness: Type.Optional(
        Type.Union(['low', 'medium', 'high', 'auto'].map((each) => Type.Literal(each)))
      )
    },
    strict
  )
])
export type TurnDetection = Static<typeof TurnDetectionSchema>

/** Which model transcribes, and in what language, is up to the agent. */
const TranscriptionSchema = Type.Object(
  {
    model: Type.Optional(Type.String()),
    language: Type.Optional(Type.String()),
    languages: Type.Optional(Type.Array(Type.String())),
    prompt: Type.Optional(Type.String()),
    keywords: Type.Optional(Type.Array(Type.String())),
    delay: Type.Optional(Type.String())
  },
  strict
)

/** A tool that the client serves. */
const FunctionToolSchema = Type.Object(
  {
    type: Type.Literal('function'),
    name: Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' }),
    description: Type.Optional(Type.String({ maxLength: 4_096 })),
    parameters: Type.Optional(
      Type.Unsafe<Readonly<Record<string, unknown>>>(
        Type.Object(
          { type: Type.Optional(Type.Literal('object')) },
          { additionalProperties: true, description: 'JSON Schema' }
        )
      )
    ),
    strict: Type.Optional(Type.Boolean())
  },
  strict
)
const McpToolSchema = Type.Object({ type: Type.Literal('mcp') }, { additionalProperties: true })

export const OutputModalitiesSchema = Type.Array(Type.Union([Type.Literal('audio'), Type.Literal('text')]), {
  minItems: 1,
  maxItems: 1
})
const MaxTokensSchema = Type.Union([Type.Integer({ minimum: 1 }), Type.Literal('inf')])

/** The fields that a session and a single response share. */
export const SHARED_FIELDS = {
  instructions: Type.Optional(Type.String({ maxLength: 65_536 })),
  output_modalities: Type.Optional(OutputModalitiesSchema),
  tools: Type.Optional(Type.Array(Type.Union([FunctionToolSchema, McpToolSchema]), { maxItems: 64 })),
  tool_choice: Type.Optional(Type.Unknown()),
  parallel_tool_calls: Type.Optional(Type.Boolean()),
  max_output_tokens: Type.Optional(MaxTokensSchema),
  prompt: Type.Optional(Type.Unknown()),
  reasoning: Type.Optional(Type.Unknown())
}

const VoiceSchema = Type.Union([
  Type.String({ minLength: 1, maxLength: 256 }),
  Type.Object({ id: Type.String({ minLength: 1, maxLength: 256 }) }, strict)
])

/** What a client configures. Absent fields keep their value. */
export const SessionConfigSchema = Type.Object(
  {
    type: Type.Optional(Type.Union([Type.Literal('realtime'), Type.Literal('transcription')])),
    id: Type.Optional(Type.String()),
    object: Type.Optional(Type.String()),
    model: Type.Optional(Type.String({ description: 'The name of the voice agent' })),
    ...SHARED_FIELDS,
    audio: Type.Optional(
      Type.Object(
        {
          input: Type.Optional(
            Type.Object(
              {
                format: Type.Optional(AudioFormatSchema),
                noise_reduction: Type.Optional(Type.Unknown()),
                transcription: Type.Optional(nullable(TranscriptionSchema)),
                turn_detection: Type.Optional(nullable(TurnDetectionSchema))
              },
              strict
            )
          ),
          output: Type.Optional(
            Type.Object(
              {
                format: Type.Optional(AudioFormatSchema),
                voice: Type.Optional(VoiceSchema),
                speed: Type.Optional(Type.Number())
              },
              strict
            )
          )
        },
        strict
      )
    ),
    include: Type.Optional(nullable(Type.Array(Type.String()))),
    tracing: Type.Optional(Type.Unknown()),
    truncation: Type.Optional(Type.Unknown()),
    expires_at: Type.Optional(Type.Integer())
  },
  { ...strict, title: 'SessionConfig' }
)
export type SessionConfig = Static<typeof SessionConfigSchema>
export type WireFormat = Static<typeof AudioFormatSchema>
