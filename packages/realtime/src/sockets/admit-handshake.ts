import { givenOf, isVoiceRunnable, unlessLate, VOICE_ERR_NOT_A_VOICE, type Principal } from '@svc/contract'
import { readCredentials, requireAllowed, requireExposed } from '@svc/surface'
import {
  RT_ERR_HANDSHAKE_TIMEOUT,
  RT_ERR_INVALID_TOKEN,
  RT_ERR_NO_MODEL,
  RT_ERR_OTHER_MODEL,
  RT_ERR_OTHER_SESSION
} from '../errors.ts'
import type { Surface } from '../surface.ts'
import { SEALED_FIELDS, type ReadSecret, type Sealed } from '../secrets/client-secrets.ts'
import { identifyCaller, tokenOfProtocols, type CallerRequest } from './identify-caller.ts'

/** The query of a handshake. */
export interface HandshakeQuery {
  /** The name of the voice agent. */
  readonly model?: string
  /** The call to continue: its `runId`. */
  readonly call?: string
  /** The same, by the name that clients of the protocol use. */
  readonly call_id?: string
  /** The session that the call belongs to. */
  readonly sessionId?: string
  /** The user that the call belongs to. */
  readonly userId?: string
}

/** An admitted client. */
export interface Handshake extends Sealed {
  readonly principal: Principal
  /** Undefined only together with `call`. */
  readonly model: string | undefined
  /** Undefined for a client with credentials of its own. */
  readonly secret: ReadSecret | undefined
}

/**
 * Admits the client of a handshake.
 * @throws RT_ERR_NO_TOKEN, RT_ERR_INVALID_TOKEN, RT_ERR_CROSS_ORIGIN, RT_ERR_NO_MODEL, RT_ERR_OTHER_MODEL, RT_ERR_OTHER_SESSION,
 * RT_ERR_HANDSHAKE_TIMEOUT, and the errors of `requireVoice`
 */
export async function admitHandshake(
  surface: Surface,
  request: CallerRequest,
  query: HandshakeQuery
): Promise<Handshake> {
  const { handshakeTimeout } = surface.settings
  const late = () => new RT_ERR_HANDSHAKE_TIMEOUT(handshakeTimeout)
  return await unlessLate(handshakeTimeout, late, admit(surface, request, query))
}

async function admit(surface: Surface, request: CallerRequest, query: HandshakeQuery): Promise<Handshake> {
  const token = readCredentials(request.headers).token ?? tokenOfProtocols(request.headers)
  const secret = surface.secrets.covers(token) ? await readSecret(surface, token) : undefined
  const principal = secret?.principal ?? (await identifyCaller(surface, request, token))
  const { call_id: callId, call = callId, sessionId, userId } = query
  const sealed = sealedOf({ call, sessionId, userId }, secret)
  const model = query.model ?? secret?.model
  if (secret !== undefined && model !== secret.model) throw new RT_ERR_OTHER_MODEL(secret.model)
  if (model === undefined && sealed.call === undefined) throw new RT_ERR_NO_MODEL()
  if (model !== undefined) await requireVoice(surface, principal, model)
  return { principal, model, secret, ...sealed }
}

// What a secret fixes may be repeated. A call that the secret itself began is not known here: it is left to the connection.
function sealedOf(
  asked: Partial<Record<keyof Sealed, string | undefined>>,
  secret: ReadSecret | undefined
): Sealed {
  const given = givenOf(asked) as Sealed
  if (secret === undefined) return given
  for (const field of SEALED_FIELDS) {
    const isOpen = field === 'call' && secret.sealed.call === undefined
    if (!isOpen && given[field] !== undefined && given[field] !== secret.sealed[field])
      throw new RT_ERR_OTHER_SESSION(field)
  }
  return { ...given, ...secret.sealed }
}

async function readSecret({ secrets }: Surface, token: string) {
  try {
    return await secrets.read(token)
  } catch (cause) {
    throw new RT_ERR_INVALID_TOKEN({ cause })
  }
}

/**
 * Checks that a caller may call an agent.
 * @throws RT_ERR_FORBIDDEN, RT_ERR_MISSING_SCOPE, RT_ERR_UNKNOWN_RUNNABLE, VOICE_ERR_NOT_A_VOICE
 */
export async function requireVoice(surface: Surface, principal: Principal, name: string): Promise<void> {
  await requireAllowed(surface, principal, 'run', { kind: 'agent', name })
  if (!isVoiceRunnable(requireExposed(surface, 'agent', name))) throw new VOICE_ERR_NOT_A_VOICE('agent', name)
}
