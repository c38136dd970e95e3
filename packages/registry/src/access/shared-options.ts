import { Type } from '@sinclair/typebox'
import { defined, MAX_TIMER } from '@svc/contract'

/** Milliseconds. Proxies have been seen to close streams that were silent for 16 seconds. */
export const DEFAULT_HEARTBEAT = 10_000

/** Options that an engine has for all surfaces; each surface may have its own. */
export interface SharedOptions {
  /** Bytes of a body, for every surface over HTTP without a limit of its own; default: that of the surface. */
  bodyLimit?: number | undefined
  /** Levels of objects and lists in a body or an event, for every surface without a limit of its own; default 64. */
  jsonDepth?: number | undefined
  /** Milliseconds between signs of life on a silent stream, for every surface without an interval of its own; default 10,000. */
  heartbeat?: number | undefined
  /** Whether runs take `instructions` of their clients, on every surface that does not say; default `false`, on Realtime `true`. */
  clientInstructions?: boolean | undefined
  /** Whether runs take `tools` that their clients serve, on every surface that does not say; default `false`, on Realtime `true`. */
  clientTools?: boolean | undefined
}

/** The schemas of these options, for surfaces too. */
export const SHARED_OPTIONS = {
  bodyLimit: Type.Integer({ minimum: 1_024, maximum: MAX_TIMER }),
  jsonDepth: Type.Integer({ minimum: 1, maximum: 1_000 }),
  heartbeat: Type.Integer({
    minimum: 1,
    maximum: MAX_TIMER,
    description:
      'Milliseconds between signs of life on a silent stream; default that of `@svc/registry`, 10,000'
  }),
  clientInstructions: Type.Boolean({
    description: 'Whether runs take `instructions` of their callers; default that of `@svc/registry`, `false`'
  }),
  clientTools: Type.Boolean({
    description:
      'Whether runs take `tools` that their callers serve; default that of `@svc/registry`, `false`'
  })
}

/** The shared options of a surface, all of them given. */
export type SharedSettings = { readonly [Name in keyof SharedOptions]-?: NonNullable<SharedOptions[Name]> }

const DEFAULTS: SharedSettings = Object.freeze({
  bodyLimit: 1_048_576,
  jsonDepth: 64,
  heartbeat: DEFAULT_HEARTBEAT,
  clientInstructions: false,
  clientTools: false
})

/** The shared options among others. */
export function sharedOptionsOf(options: SharedOptions) {
  const { bodyLimit, jsonDepth, heartbeat, clientInstructions, clientTools } = options
  return defined({ bodyLimit, jsonDepth, heartbeat, clientInstructions, clientTools })
}

/** Each shared option as the surface has it, else the engine, else as `defaults` say. */
export function resolveSharedOptions(
  own: SharedOptions,
  ofEngine: SharedOptions,
  defaults: SharedOptions = {}
): SharedSettings {
  return { ...DEFAULTS, ...defined(defaults), ...defined(ofEngine), ...sharedOptionsOf(own) }
}
