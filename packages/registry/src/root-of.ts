import type { FastifyInstance } from 'fastify'

/** The app that a scope is in; a scope inherits from the one around it. */
export function rootOf(scope: FastifyInstance): FastifyInstance {
  const parent = Object.getPrototypeOf(scope) as FastifyInstance | null
  return parent !== null && typeof parent.hasRoute === 'function' ? rootOf(parent) : scope
}
