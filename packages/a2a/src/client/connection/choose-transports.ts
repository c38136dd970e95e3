import { A2A_ERR_BAD_OPTION } from '../../errors.ts'
import type { RemoteAgentOptions } from '../remote-options.ts'
import { httpJsonTransport } from './http-json-transport.ts'
import { jsonRpcTransport } from './json-rpc-transport.ts'
import type { RemoteTransport } from './transport.ts'

/**
 * The transports that an agent may use: those of the options replace ours of the same binding. With `version`, the first one is
 * used.
 * @throws A2A_ERR_BAD_OPTION
 */
export function chooseTransports({
  transports = [],
  binding
}: Pick<RemoteAgentOptions, 'transports' | 'binding'>): readonly RemoteTransport[] {
  const all = new Map<string, RemoteTransport>()
  for (const each of [jsonRpcTransport(), httpJsonTransport(), ...transports]) all.set(each.binding, each)
  if (binding === undefined) return [...all.values()]
  const chosen = all.get(binding)
  if (chosen === undefined)
    throw new A2A_ERR_BAD_OPTION(
      `binding: no transport speaks ${JSON.stringify(binding)}: add one to transports`
    )
  return [chosen]
}
