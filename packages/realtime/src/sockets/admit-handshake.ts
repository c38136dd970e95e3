import type { IncomingHttpHeaders } from 'node:http'
import { ANONYMOUS, defined, isVoiceRunnable, unlessLate, type Principal } from '@svc/contract'
import { VOICE_ERR_NOT_A_VOICE } from '@svc/contract/errors'
import {
  identify,
  isForeignOrigin,
  isStrayCall,
  readCredentials,
  requireAllowed,
  requireExposed,
  toCredentials,
  type LocalCall
} from '@svc/surface'
import {
  RT_ERR_CROSS_ORIGIN,
  RT_ERR_HANDSHAKE_TIMEOUT,
  RT_ERR_INVALID_TOKEN,
  RT_ERR_NO_MODEL,
  RT_ERR_OTHER_MODEL,
  RT_ERR_OTHER_SESSION
} from '../errors.ts'
import { errors } from '../surface-errors.ts'
import { SEALED_FIELDS, type ReadSecret, type Sealed } from '../secrets/client-secrets.ts'
import type { Surface } from '../surface.ts'

const TOKEN_PROTOCOL = 'openai-insecure-api-key.'

/** The parts of a request that identify its caller; a FastifyRequest has them. */
export interface CallerRequest {
  readonly headers: IncomingHttpHeaders
  /** The requested host and port. */
  readonly host: string
  readonly call: LocalCall
}

/** The token among the subprotocols of a handshake: browsers cannot send it in a header. */
export function tokenOfProtocols({
  'sec-websocket-protocol': offered = ''
}: IncomingHttpHeaders): string | undefined {
  const protocols = offered.split(',').map((each) => each.trim())
  return protocols.find((each) => each.startsWith(TOKEN_PROTOCOL))?.slice(TOKEN_PROTOCOL.length)
}

/**
 * Identifies the caller by a token, or by what else the app's `authenticate` reads.
 * @throws RT_ERR_NO_TOKEN, RT_ERR_INVALID_TOKEN, RT_ERR_CROSS_ORIGIN, and errors of status 500 or more unchanged
 */
export async function identifyCaller(
  { policy: { authenticate, hosts } }: Pick<Surface, 'policy'>,
  { headers, host, call }: CallerRequest,
  token: string | undefined
): Promise<Principal> {
  if (authenticate === undefined && isStrayCall(call, hosts)) throw new RT_ERR_CROSS_ORIGIN()
  if (authenticate === undefined) return ANONYMOUS
  if (isForeignOrigin(headers, host)) throw new RT_ERR_CROSS_ORIGIN()
  const credentials = token === undefined ? readCredentials(headers) : toCredentials(headers, token)
  return identify(authenticate, credentials, errors)
}

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
  const given = defined(asked) as Sealed
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
  const agent = await requireExposed(surface, 'agent', name)
  if (!isVoiceRunnable(agent)) throw new VOICE_ERR_NOT_A_VOICE('agent', name)
}
