import { Type } from '@sinclair/typebox'
import { defined, optionsSchema, requireOptions } from '@svc/contract'
import type { RegisterOptions } from 'fastify'
import { CON_ERR_BAD_OPTION } from './errors.ts'

/** Where the surfaces of the app are: the paths that their plugins were registered with. */
export interface Surfaces {
  /** Of `@svc/http`, which serves all that the page shows; default `/api`. */
  http?: string
  /** Of `@svc/a2a`. */
  a2a?: string
  /** Of OpenAI's Agents API. */
  agents?: string
  /** Of the AG-UI protocol. */
  agui?: string
  /** Of Anthropic's Managed Agents API. */
  managed?: string
  /** Of the OpenAI Realtime protocol. */
  realtime?: string
  /** Of the OpenAI Responses API. */
  responses?: string
}

/** Options of the plugin. */
export interface ConsoleOptions {
  /** The name of the service, which the page shows; default `Console`. */
  title?: string
  /** The surfaces that the page uses; those that are not named are not shown. */
  surfaces?: Surfaces
  /** The path of a page where visitors sign in for a cookie; default: visitors enter a token. */
  signIn?: string
}

// Another origin would need a policy that lets the page connect to it.
const path = Type.String({ pattern: '^/(?:[^/\\\\?#\\s][^\\\\?#\\s]*)?$', maxLength: 1_024 })

export const ConsoleOptionsSchema = optionsSchema<ConsoleOptions>({
  title: Type.String({ minLength: 1, maxLength: 80 }),
  surfaces: optionsSchema<Surfaces>({
    http: path,
    a2a: path,
    agents: path,
    agui: path,
    managed: path,
    realtime: path,
    responses: path
  }),
  signIn: path
})

/** Validates the options and fills in the defaults. @throws CON_ERR_BAD_OPTION */
export function resolveOptions(given: ConsoleOptions & RegisterOptions) {
  const { prefix, logLevel, logSerializers, ...options } = given
  requireOptions(ConsoleOptionsSchema, options, CON_ERR_BAD_OPTION)
  const registerOptions: RegisterOptions = {
    // With the prefix `/` the document would be at `//`.
    ...(prefix !== undefined && { prefix: prefix.replace(/\/+$/, '') }),
    ...defined({ logLevel, logSerializers })
  }
  const { surfaces = {}, title = 'Console', signIn } = defined(options)
  return { title, signIn, surfaces: { http: '/api', ...defined(surfaces) }, registerOptions }
}
export type ConsoleSettings = ReturnType<typeof resolveOptions>
