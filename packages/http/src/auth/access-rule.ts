import type { Action, RunnableKind } from '@svc/contract'

/**
 * Who may call a route: everyone (`open`); callers with valid credentials (`authenticated`; the handler checks ownership);
 * or callers who may perform the action on the runnables of a kind, or on the one that `:name` names.
 */
export type AccessRule = 'open' | 'authenticated' | { readonly action: Action; readonly kind: RunnableKind }

declare module 'fastify' {
  interface FastifyInstance {
    /** Default rule of a scope, for routes that declare none, such as those of a third-party plugin. */
    access?: AccessRule
  }
  interface FastifyContextConfig {
    /** Required on every route of the plugin. */
    access?: AccessRule
    /** The key of the route in `defaultScopes`. */
    accessKey?: string
  }
}
