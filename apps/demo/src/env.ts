import { Type, type Static } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'

const text = (description: string) => Type.Optional(Type.String({ description }))

/** The demo's environment variables. An empty one counts as not set. */
export const EnvSchema = Type.Object({
  HOST: Type.String({ default: '127.0.0.1', description: 'Address to listen on' }),
  PORT: Type.Integer({
    minimum: 0,
    maximum: 65_535,
    default: 3000,
    description: 'Port to listen on; 0 takes a free one'
  }),
  DATA_DIR: Type.String({
    default: './data',
    description: 'Folder of the database; created if needed'
  }),
  DATABASE_URL: text(
    'URL of a Postgres to use instead of SQLite, such as postgres://user:password@host/database'
  ),
  LOG_LEVEL: Type.Union(
    ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'].map((level) => Type.Literal(level)),
    { default: 'warn', description: 'Lowest level that is logged' }
  ),
  OFFLINE_DELAY: Type.Integer({
    minimum: 0,
    maximum: 10_000,
    default: 4,
    description: 'Milliseconds between two words of the offline model'
  }),
  DEMO_AUTH: Type.Boolean({
    default: false,
    description: '1: requests need a token; the demo prints one for each of three roles'
  }),
  DEMO_SECRET: Type.Optional(
    Type.String({ minLength: 32, description: 'Signs the tokens; default: a new one at each start' })
  ),
  MODEL: text('Id of the model to use at the provider'),
  OPENAI_API_KEY: text('Makes the agent run on OpenAI'),
  OPENAI_BASE_URL: text('A server with OpenAI’s protocol, such as Ollama; needs no key'),
  ANTHROPIC_API_KEY: text('Makes the agent run on Anthropic'),
  GOOGLE_GENERATIVE_AI_API_KEY: text('Makes the agent run on Google')
})
export type Env = Static<typeof EnvSchema>

/** Reads the environment. @throws an Error that names the invalid variable */
export function readEnv(variables: NodeJS.ProcessEnv): Env {
  const given = Object.entries(variables).filter(
    ([name, value]) => name in EnvSchema.properties && value?.trim()
  )
  const env = Value.Default(
    EnvSchema,
    Object.fromEntries(given.map(([name, value]) => [name, value?.trim()]))
  )
  const converted = Value.Convert(EnvSchema, env)
  const fault = Value.Errors(EnvSchema, converted).First()
  if (fault !== undefined) throw new Error(describe(fault.path.slice(1), variables))
  const { OPENAI_BASE_URL } = converted as Env
  if (OPENAI_BASE_URL !== undefined && !/^https?:$/.test(URL.parse(OPENAI_BASE_URL)?.protocol ?? ''))
    throw new Error('OPENAI_BASE_URL must be a URL, such as http://localhost:11434/v1')
  return converted as Env
}

const WANTED: Record<string, string> = { boolean: '1 or 0', string: 'at least 32 characters' }

function describe(name: string, variables: NodeJS.ProcessEnv): string {
  const { minimum, maximum, anyOf, type } = EnvSchema.properties[name as keyof Env] as {
    minimum?: number
    maximum?: number
    anyOf?: { const: string }[]
    type?: string
  }
  const wanted =
    anyOf === undefined
      ? (WANTED[type ?? ''] ?? `a whole number from ${minimum} to ${maximum}`)
      : `one of ${anyOf.map((each) => each.const).join(', ')}`
  // A secret is never shown.
  return name === 'DEMO_SECRET'
    ? `${name} must be ${wanted}`
    : `${name} must be ${wanted}, not "${variables[name]}"`
}
