import type { FastifyInstance } from 'fastify'
import {
  ANTHROPIC_ERR_BETA_REQUIRED,
  ANTHROPIC_ERR_UNKNOWN_BETA,
  ANTHROPIC_ERR_UNSUPPORTED
} from '../errors.ts'

/** The revision of the API that the package speaks, as requests name it in `anthropic-beta`. */
const REVISION = 'managed-agents-2026-04-01'
/** The one of files, which requests for them may name, too, or leave out. */
const FILES = 'files-api-2025-04-14'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True for routes of files. */
    isOfFiles?: boolean
  }
}

/** Refuses requests of another revision, and those that choose a workspace. */
export function requireRevision(scope: FastifyInstance): void {
  scope.addHook('onRequest', ({ headers, routeOptions }, _reply, done) => {
    const isOfFiles = routeOptions.config.isOfFiles === true
    const given = String(headers['anthropic-beta'] ?? '')
      .split(',')
      .map((each) => each.trim())
    const unknown = given.filter((each) => each !== '' && each !== REVISION && !(isOfFiles && each === FILES))
    if (unknown.length > 0)
      return done(
        new ANTHROPIC_ERR_UNKNOWN_BETA(unknown.map((each) => `\`${each.slice(0, 64)}\``).join(', '))
      )
    if (!isOfFiles && !given.includes(REVISION)) return done(new ANTHROPIC_ERR_BETA_REQUIRED(REVISION))
    const hasWorkspace = headers['anthropic-workspace-id'] !== undefined
    done(
      hasWorkspace
        ? new ANTHROPIC_ERR_UNSUPPORTED('workspaces: leave out `anthropic-workspace-id`')
        : undefined
    )
  })
}
