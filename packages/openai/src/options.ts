import { Type } from '@sinclair/typebox'
import type { NamedRunnables, OnDisconnect, Registry } from '@svc/registry'
import {
  CLIENT_OPTIONS,
  EXPOSED_OPTIONS,
  givenOf,
  MAX_TIMER,
  OnDisconnectSchema,
  optionsSchema,
  POLICY_OPTIONS,
  requireOptions,
  type PolicyOptions
} from '@svc/registry/kit'
import type { RegisterOptions } from 'fastify'
import { OPENAI_ERR_BAD_OPTION } from './errors.ts'

/** Options of the plugin. */
export interface OpenAiOptions extends PolicyOptions {
  /** Agents to expose, as a list or by name; looked up before the registry. */
  agents?: NamedRunnables
  /** Teams to expose. */
  teams?: NamedRunnables
  /** Workflows to expose. */
  workflows?: NamedRunnables
  /** Where else to look up runnables; `false`: nowhere; default `fastify.registry`. */
  registry?: Registry | false
  /** The URL of the prefix as clients reach it, behind a proxy that changes it; default: that of each request. */
  url?: string
  /** Whether runs take `instructions` of their clients; default `false`. */
  clientInstructions?: boolean
  /** Whether runs take `tools` that their clients serve; default `false`. */
  clientTools?: boolean
  /** What happens to a run whose client disconnects, unless its request says; default `cancel`, and `continue` for background responses. */
  onDisconnect?: OnDisconnect
  /** Bytes of a body; default 10,485,760, since clients send whole conversations and files. */
  bodyLimit?: number
  /** Levels of objects and lists in a body; default 64. */
  jsonDepth?: number
  /** Milliseconds between comments on a silent stream; default 15,000. */
  heartbeat?: number
}

export const OpenAiOptionsSchema = optionsSchema<OpenAiOptions>({
  ...EXPOSED_OPTIONS,
  ...POLICY_OPTIONS,
  ...CLIENT_OPTIONS,
  url: Type.String({ pattern: '^https?://[^\\s?#]+$' }),
  onDisconnect: OnDisconnectSchema,
  bodyLimit: Type.Integer({ minimum: 1_024, maximum: MAX_TIMER }),
  jsonDepth: Type.Integer({ minimum: 1, maximum: 1_000 }),
  heartbeat: Type.Integer({ minimum: 1, maximum: MAX_TIMER })
})

const DEFAULTS: Readonly<
  Required<
    Pick<
      OpenAiOptions,
      'clientInstructions' | 'clientTools' | 'onDisconnect' | 'bodyLimit' | 'jsonDepth' | 'heartbeat'
    >
  >
> = Object.freeze({
  clientInstructions: false,
  clientTools: false,
  onDisconnect: 'cancel',
  bodyLimit: 10_485_760,
  jsonDepth: 64,
  heartbeat: 15_000
})

/** Validates the options and fills in the defaults. @throws OPENAI_ERR_BAD_OPTION */
export function resolveOptions(given: OpenAiOptions & RegisterOptions) {
  const { prefix, logLevel, logSerializers, ...options } = given
  requireOptions(OpenAiOptionsSchema, options, OPENAI_ERR_BAD_OPTION)
  const registerOptions: RegisterOptions = {
    ...(prefix !== undefined && { prefix }),
    ...(logLevel !== undefined && { logLevel }),
    ...(logSerializers !== undefined && { logSerializers })
  }
  return { ...DEFAULTS, ...givenOf(options), registerOptions }
}
export type OpenAiSettings = ReturnType<typeof resolveOptions>
