import { Type, type TSchema } from '@sinclair/typebox'
import { millisecondsSchema } from '@svc/registry/kit'

const optional = (schema: TSchema) => Type.Optional(schema)
const strict = { additionalProperties: false }
// What a schema cannot tell well is checked by hand.
const checkedElsewhere = Type.Any()

/** What can be set of a model call; see `LanguageModelV4CallOptions` of `@ai-sdk/provider`. */
const ModelSettingsSchema = Type.Object(
  {
    maxOutputTokens: optional(Type.Integer({ minimum: 1 })),
    temperature: optional(Type.Number()),
    topP: optional(Type.Number()),
    topK: optional(Type.Number()),
    presencePenalty: optional(Type.Number()),
    frequencyPenalty: optional(Type.Number()),
    stopSequences: optional(Type.Array(Type.String())),
    seed: optional(Type.Integer()),
    reasoning: optional(Type.String()),
    providerOptions: optional(Type.Record(Type.String(), Type.Record(Type.String(), Type.Unknown())))
  },
  strict
)

/** The options of an agent. */
export const AgentOptionsSchema = Type.Object(
  {
    name: checkedElsewhere,
    description: optional(Type.String()),
    instructions: optional(checkedElsewhere),
    model: checkedElsewhere,
    provider: optional(Type.String({ minLength: 1 })),
    settings: optional(ModelSettingsSchema),
    tools: optional(Type.Array(checkedElsewhere)),
    approval: optional(checkedElsewhere),
    approvalTimeout: optional(millisecondsSchema('That an approval waits; default 300,000')),
    sandbox: optional(checkedElsewhere),
    sessions: optional(checkedElsewhere),
    history: optional(
      Type.Object(
        {
          maxMessages: optional(Type.Integer({ minimum: 0, description: 'Default 50' })),
          maxTokens: optional(
            Type.Integer({ minimum: 0, description: 'About 4 characters each; default: no bound' })
          ),
          countTokens: optional(Type.Function([], Type.Unknown()))
        },
        strict
      )
    ),
    memory: optional(checkedElsewhere),
    skills: optional(Type.Array(checkedElsewhere)),
    output: optional(checkedElsewhere),
    urls: optional(
      Type.Object(
        {
          allowHosts: optional(Type.Array(Type.String({ minLength: 1 }))),
          maxBytes: optional(Type.Integer({ minimum: 1, description: 'Of one file; default 20 MiB' })),
          timeout: optional(millisecondsSchema('For one file; default 20,000'))
        },
        strict
      )
    ),
    retry: optional(
      Type.Object(
        {
          attempts: optional(Type.Integer({ minimum: 1, description: 'Calls in all; default 3' })),
          baseDelay: optional(Type.Integer({ minimum: 0, description: 'Milliseconds; default 500' })),
          maxDelay: optional(Type.Integer({ minimum: 0, description: 'Milliseconds; default 30,000' }))
        },
        strict
      )
    ),
    timeout: optional(
      Type.Object(
        {
          firstToken: optional(millisecondsSchema('Until the first token of a model call; default 60,000')),
          betweenTokens: optional(millisecondsSchema('From one token to the next; default 60,000')),
          run: optional(millisecondsSchema('The whole run; default 600,000'))
        },
        strict
      )
    ),
    maxSteps: optional(Type.Integer({ minimum: 1, description: 'Model calls of one run; default 10' })),
    register: optional(Type.Boolean()),
    registry: optional(checkedElsewhere),
    replace: optional(Type.Boolean())
  },
  strict
)

/** What a tool is made from. */
export const ToolOptionsSchema = Type.Object(
  {
    name: Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' }),
    description: Type.String(),
    input: checkedElsewhere,
    output: optional(checkedElsewhere),
    execute: Type.Function([], Type.Unknown()),
    approval: optional(Type.Union([Type.Boolean(), Type.Function([], Type.Unknown())])),
    approvalTimeout: optional(millisecondsSchema("Default: the agent's")),
    timeout: optional(millisecondsSchema('Default 60,000')),
    maxOutputBytes: optional(Type.Integer({ minimum: 1, description: 'Of its JSON; default 262,144' })),
    sandbox: optional(checkedElsewhere)
  },
  strict
)

/** What an agent does when its options do not say otherwise. */
export const AGENT_DEFAULTS = Object.freeze({
  history: { maxMessages: 50, maxTokens: Infinity },
  urls: { allowHosts: [], maxBytes: 20 * 1024 * 1024, timeout: 20_000 },
  retry: { attempts: 3, baseDelay: 500, maxDelay: 30_000 },
  timeout: { firstToken: 60_000, betweenTokens: 60_000, run: 600_000 },
  maxSteps: 10
})
