import type { ProtocolVersion } from '../model/agent-card.ts'

/** Where a remote agent is, and how it is spoken to. */
export interface RemoteAgentOptions {
  /** Of the service or of its card; the endpoint itself where `version` is given. */
  url: string
  /** Under which it is known here; default: the host of the URL. */
  name?: string
  description?: string
  /** Which agent of the service is meant, where it has several: `metadata.agentName`. */
  agentName?: string
  /** Sent with every request; a function is asked each time. */
  headers?: Readonly<Record<string, string>> | (() => Awaited<HeadersOf> | Promise<HeadersOf>)
  /** Sent as `Authorization: Bearer …`; a function is asked each time. */
  token?: string | (() => string | Promise<string>)
  /** Default: what the card says, the newest first. Given, no card is read. */
  version?: ProtocolVersion
  /** URIs of extensions of the protocol to use, sent with every request. */
  extensions?: readonly string[]
  /** Milliseconds that the service has to begin its answer; default 30,000. */
  timeout?: number
}

type HeadersOf = Readonly<Record<string, string>>
