import { randomId } from '@svc/contract'
import { localCallOf, readCredentials, requireOwnUser } from '@svc/surface'
import type { FastifyInstance } from 'fastify'
import { RT_ERR_INVALID_TOKEN, RT_ERR_NO_MODEL } from '../errors.ts'
import { SessionState } from '../sessions/session-state.ts'
import { identifyCaller, requireVoice } from '../sockets/admit-handshake.ts'
import type { Surface } from '../surface.ts'
import { ErrorBodySchema, SecretRequestSchema, SecretSchema, type SecretRequest } from './client-secrets.ts'

const schema = {
  operationId: 'createClientSecret',
  tags: ['Realtime'],
  summary: 'Create a client secret',
  description: 'A short-lived token for one client, such as a page, which can call one voice agent with it.',
  body: SecretRequestSchema,
  response: { 200: SecretSchema, '4xx': ErrorBodySchema, '5xx': ErrorBodySchema }
}

/** `POST /realtime/client_secrets`: a secret for one client, bound to its caller, a voice agent, a session and a user. */
export function clientSecretRoute(scope: FastifyInstance, surface: Surface): void {
  const { secrets, settings } = surface
  scope.route<{ Body: SecretRequest }>({
    method: 'POST',
    url: '/realtime/client_secrets',
    schema,
    async onRequest(request) {
      const { token } = readCredentials(request.headers)
      // A secret makes no other secrets.
      if (secrets.covers(token)) throw new RT_ERR_INVALID_TOKEN()
      request.caller = await identifyCaller(
        surface,
        { headers: request.headers, host: request.host, call: localCallOf(request) },
        token
      )
    },
    async handler({ body, caller: principal }) {
      const { session, expires_after: after, ...sealed } = body
      const { model } = session
      if (model === undefined) throw new RT_ERR_NO_MODEL()
      await requireVoice(surface, principal, model)
      requireOwnUser(surface, principal, sealed.userId)

      const state = new SessionState(`sess_${randomId()}`, model)
      state.update(session)
      const lifetime = after?.seconds ?? settings.secretLifetime
      const expiresAt = Math.floor(Math.min(Date.now() / 1_000 + lifetime, principal.exp ?? Infinity))
      const value = await secrets.issue({ principal, model, session, sealed }, expiresAt)
      return { value, expires_at: expiresAt, session: state.toWire() }
    }
  })
}
