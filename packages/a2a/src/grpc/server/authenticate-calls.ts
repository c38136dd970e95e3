import { ServerInterceptingCall, type Metadata, type ServerInterceptor } from '@grpc/grpc-js'
import { ANONYMOUS, isPromise, type Principal } from '@svc/contract'
import { identifyCaller } from '../../auth/authenticate-requests.ts'
import type { GrpcHost } from '../../bindings/grpc-binding.ts'
import type { Codec } from '../../wire/codec.ts'
import { headersOf } from './grpc-caller.ts'
import { toRefusal } from './grpc-refusal.ts'

/** Who makes a call, and with what. */
interface Known {
  readonly principal: Principal
  readonly headers: Readonly<Record<string, string>>
}

const known = new WeakMap<Metadata, Known>()

/** The caller with this metadata: anonymous, unless calls are authenticated. */
export function knownCaller(metadata: Metadata): Known {
  return known.get(metadata) ?? { principal: ANONYMOUS, headers: headersOf(metadata) }
}

/** Authenticates calls before their messages are read. */
export function authenticateCalls(
  { surface, log }: GrpcHost,
  codecOf: (path: string) => Codec
): ServerInterceptor[] {
  const { authenticate } = surface.policy
  if (authenticate === undefined) return []
  return [
    ({ path }, call) => {
      return new ServerInterceptingCall(call, {
        start: (next) =>
          next({
            onReceiveMetadata(metadata, pass) {
              const headers = headersOf(metadata)
              const refuse = (err: unknown) =>
                call.sendStatus(toRefusal(err, codecOf(path), { log, headers }))
              const admit = (principal: Principal) => {
                known.set(metadata, { principal, headers })
                pass(metadata)
              }
              try {
                const found = identifyCaller(authenticate, headers)
                if (isPromise(found)) found.then(admit, refuse)
                else admit(found)
              } catch (err) {
                refuse(err)
              }
            }
          })
      })
    }
  ]
}
