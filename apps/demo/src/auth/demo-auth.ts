import { randomBytes } from 'node:crypto'
import jwtPlugin from '@fastify/jwt'
import { createJwtAuthenticate, createScopeAuthorize } from '@svc/http'
import type { Authenticate, Authorize } from '@svc/registry'
import Fastify from 'fastify'

/** A role of the demo, with a token to try it. */
export interface DemoRole {
  role: string
  may: string
  token: string
}

/** The policy of the demo, and its roles. */
export interface DemoAuth {
  /** For every surface. */
  policy: { authenticate: Authenticate; authorize: Authorize }
  /** The scopes of single routes. */
  http: { rbac: Record<string, never> }
  roles: DemoRole[]
}

const ROLES = [
  { role: 'reader', may: 'look at what there is', scopes: ['agents:read', 'teams:read', 'workflows:read'] },
  {
    role: 'user',
    may: 'run everything',
    scopes: ['agents:*', 'teams:*', 'workflows:*', 'schedules:*', 'webhooks:*']
  },
  { role: 'admin', may: 'do everything', scopes: ['admin:*'] }
]

/** A new secret, which signs tokens until the process ends. */
export function randomSecret(): string {
  return randomBytes(32).toString('base64url')
}

/** Authentication by tokens for three roles, valid for a day and signed with `secret`; default: a new secret at each start. */
export async function createDemoAuth(secret = randomSecret()): Promise<DemoAuth> {
  const signer = Fastify()
  await signer.register(jwtPlugin, { secret, sign: { expiresIn: '1 day' } })
  return {
    policy: { authenticate: await createJwtAuthenticate({ secret }), authorize: createScopeAuthorize({}) },
    http: { rbac: {} },
    roles: ROLES.map(({ role, may, scopes }) => ({
      role,
      may,
      token: signer.jwt.sign({ sub: role, scopes })
    }))
  }
}
