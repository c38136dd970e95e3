import type { Action, RunnableKind } from '@svc/registry'

/**
 * Who may come to a route: everyone (`open`), whoever has good credentials (`authenticated`; the handler looks at what
 * is the caller's own), or who may do the action to the runnables of a kind, or to that one which `:name` names.
 */
export type AccessRule = 'open' | 'authenticated' | { readonly action: Action; readonly kind: RunnableKind }

declare module 'fastify' {
  interface FastifyInstance {
    /** The rule of the routes of a scope that declare none, such as those of another plugin. */
    access?: AccessRule
  }
  interface FastifyContextConfig {
    /** Every route of the plugin has one. */
    access?: AccessRule
    /** The route as `defaultScopes` names it. */
    accessKey?: string
  }
}
