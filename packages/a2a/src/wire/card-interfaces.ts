import type { AgentCard } from '../model/agent-card.ts'

/** An endpoint of a service, with the protocol's name of its binding. */
export interface ServedInterface {
  readonly url: string
  readonly binding: string
}

/** The endpoints that a service serves, the preferred one first. */
export function servedInterfaces({
  urls: { rpc, rest, grpc },
  preferredBinding
}: Pick<AgentCard, 'urls' | 'preferredBinding'>): ServedInterface[] {
  const all = [
    { url: rpc, binding: 'JSONRPC' },
    { url: rest, binding: 'HTTP+JSON' },
    ...(grpc === undefined ? [] : [{ url: grpc, binding: 'GRPC' }])
  ]
  const isFirst = ({ binding }: ServedInterface) => binding === preferredBinding
  return [...all.filter(isFirst), ...all.filter((each) => !isFirst(each))]
}
