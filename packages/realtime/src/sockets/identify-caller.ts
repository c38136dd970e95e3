import type { IncomingHttpHeaders } from 'node:http'
import { ANONYMOUS, type Principal } from '@svc/contract'
import {
  identify,
  isForeignOrigin,
  isStrayCall,
  readCredentials,
  toCredentials,
  type LocalCall
} from '@svc/surface'
import { RT_ERR_CROSS_ORIGIN } from '../errors.ts'
import type { Surface } from '../surface.ts'
import { errors } from '../surface-errors.ts'

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
