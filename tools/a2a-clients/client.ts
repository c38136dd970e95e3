/** What the clients are tested to do, in the order of the table in `docs/a2a.md`. */
export const FEATURES = [
  'discovery',
  'send',
  'stream',
  'revision',
  'question',
  'cancel',
  'send a file',
  'receive a file'
] as const

/** One thing that a client may be able to do. */
export type Feature = (typeof FEATURES)[number]

/** An A2A client of others, on one binding. */
export interface ForeignClient {
  /** The name of its npm package. */
  readonly name: string
  /** The dependency of this package that has it. */
  readonly dependency: string
  /** The version of the protocol. */
  readonly protocol: '0.2' | '0.3' | '1.0'
  readonly binding: 'JSON-RPC' | 'HTTP+JSON' | 'gRPC'
  /** What its interface has no way to do, each with the reason. */
  readonly lacks: Partial<Record<Feature, string>>
  /** Loads the package and prepares for one agent of a service. */
  connect(place: AgentPlace): Promise<Conversation>
}

/** Where an agent is served. */
export interface AgentPlace {
  readonly origin: string
  /** The path of the service, e.g. `/a2a`. */
  readonly basePath: string
  /** The path of the agents' own endpoints below it, e.g. `/agents`. */
  readonly agentPath: string
  readonly agent: string
}

/** A client that talks to one agent. Methods for what it lacks are missing. */
export interface Conversation {
  /** The name on the card that the client has found. */
  discover(): Promise<string>
  send(text: string): Promise<Reply>
  stream(text: string): Promise<StreamedReply>
  /** Answers the question of a reply. */
  answer?(question: Reply, text: string): Promise<Reply>
  /** Starts a task that takes long. */
  begin?(text: string): Promise<PendingTask>
  sendFile?(file: SentFile): Promise<Reply>
}

/** What a client takes for the reply: what it shows to its user, or hands to its model. */
export interface Reply {
  readonly text: string
  readonly files: readonly ReceivedFile[]
  /** Present if the client exposes them. */
  readonly taskId?: string | undefined
  readonly contextId?: string | undefined
  readonly state?: string | undefined
}

/** A reply, with the texts in the order in which they came. */
export interface StreamedReply extends Reply {
  readonly chunks: readonly string[]
}

/** A task under way. */
export interface PendingTask {
  /** Cancels the task; resolves to its state. */
  cancel(): Promise<string>
}

/** A text file that a client sends. */
export interface SentFile {
  readonly name: string
  readonly mediaType: string
  readonly content: string
}

/** A file of a reply, by reference or with its content in Base64. */
export interface ReceivedFile {
  readonly mediaType?: string | undefined
  readonly url?: string
  readonly content?: string
}

/** The endpoint of an agent, with a slash at the end: its card is below it. */
export function urlOf({ origin, basePath, agentPath, agent }: AgentPlace): string {
  return `${origin}${basePath}${agentPath}/${agent}/`
}

/** The URL below which an agent has its card as a tenant of the service, with a slash at the end. */
export function tenantUrlOf({ origin, basePath, agent }: AgentPlace): string {
  return `${origin}${basePath}/${agent}/`
}
