import {
  type RemoteSession,
  type RemoteSessionStore,
  type RunContext,
  type RunInput,
  type RunResult,
  type Runnable,
  type SessionKey,
  type YieldedPart,
  codeOf,
  requireOptions
} from '@svc/contract'
import { RUN_ERR_REJECTED } from '@svc/contract/errors'
import { createInProcessRemoteSessionStore, defineRunnable } from '@svc/surface'
import { hash } from 'node:crypto'
import { answerRemote, sendMessage, toMessage, toMessageParts } from './answer-remote.ts'
import { RemoteConnection } from './connection/remote-connection.ts'
import { refusal } from './connection/remote-fault.ts'
import { type RemoteAgentOptions, RemoteAgentOptionsSchema } from './remote-options.ts'
import { RemoteParts } from './remote-parts.ts'
import { A2A_ERR_BAD_ANSWER, A2A_ERR_BAD_OPTION, A2A_ERR_REMOTE } from '../errors.ts'
import { textOf } from '../messages/choose-agent.ts'
import { isInterruptedState, isTerminalState } from '../model/task.ts'
import { requireHttpUrl, requireNameOption } from '../option-checks.ts'
import { requireKeys } from '../signatures/signed-card.ts'

/** Milliseconds for a service to accept a cancel; the run does not wait for it. */
const CANCEL_TIMEOUT = 5_000

/**
 * An agent of another A2A server as a runnable, for a registry, a team or a workflow. Requests use a version that the server
 * speaks, its answer is streamed, and its task is canceled with the run.
 * @throws A2A_ERR_BAD_OPTION
 */
export function remoteAgent(options: RemoteAgentOptions): RemoteAgent {
  requireOptions(RemoteAgentOptionsSchema, options, A2A_ERR_BAD_OPTION)
  const { host } = requireHttpUrl('url', options.url)
  const { description, card } = options
  requireVerifiable(options)
  const name =
    options.name === undefined
      ? requireNameOption('name, by default the host of url', host)
      : requireNameOption('name', options.name)
  const connection = new RemoteConnection(options)
  const sessions = new RemoteSessions({ name, url: options.url, agentName: options.agentName })

  return defineRunnable({
    kind: 'agent',
    name,
    description,
    card,
    stream: (input, context) =>
      streamRemote(input, context, { connection, sessions, agentName: options.agentName })
  })
}

function requireVerifiable({ verify, version }: RemoteAgentOptions): void {
  if (verify !== undefined && version !== undefined)
    throw new A2A_ERR_BAD_OPTION('verify: it needs the card, which is not read if version is given')
  requireKeys(verify)
}

/** An agent of another server. Outside an engine, such as in a script or a test, it needs no context. */
export interface RemoteAgent extends Runnable {
  run(input: RunInput, context?: RunContext): Promise<RunResult>
}

interface Remote {
  connection: RemoteConnection
  sessions: RemoteSessions
  agentName: string | undefined
}

async function* streamRemote(
  input: RunInput,
  context: RunContext,
  { connection, sessions, agentName }: Remote
): AsyncGenerator<YieldedPart, void> {
  context.signal.throwIfAborted()
  const limits = connection.limit(context.signal)
  const { signal } = limits
  const parts = new RemoteParts()
  const metadata = agentName === undefined ? {} : { metadata: { agentName } }
  // The same for every attempt of this run, so that the service accepts it once.
  const messageId = [context.idempotencyKey, ...context.source].join('/').slice(0, 256)
  const more = { ...(await sessions.find(context)), ...metadata }
  let message = toMessage(messageId, await toMessageParts(input), more)
  try {
    for (;;) {
      yield* sendMessage(message, { context, connection, parts, limits })
      await sessions.keep(context, parts)
      const answer = await answerRemote(parts, context)
      if (answer === undefined) break
      message = answer
    }
    yield* end(parts, connection)
  } catch (err) {
    if (signal.aborted) cancelRemote(connection, parts)
    throw toOwn(limits.reasonOf(err))
  } finally {
    limits.end()
    // A reader that stops early ends the task.
    if (!isTerminalState(parts.status.state) && !isInterruptedState(parts.status.state) && !signal.aborted)
      cancelRemote(connection, parts)
  }
}

function* end(parts: RemoteParts, connection: RemoteConnection): Iterable<YieldedPart> {
  const { state, message } = parts.status
  const text = connection.redact(textOf(message?.parts ?? [])).slice(0, 500)
  if (state === 'rejected') throw new RUN_ERR_REJECTED(text || 'The remote agent rejects it')
  if (state === 'failed' || state === 'auth-required') {
    const why = `its task is ${state}${text === '' ? '' : `: ${text}`}`
    throw state === 'failed' ? new A2A_ERR_REMOTE(why) : refusal(why)
  }
  if (state === 'canceled') {
    yield { type: 'finish', finishReason: 'canceled' }
    return
  }
  // A question is the answer; the next input of this session goes to the same task.
  if (state === 'input-required' || !parts.hasText) yield* parts.addStatusText()
}

function cancelRemote(connection: RemoteConnection, { taskId }: RemoteParts): void {
  if (taskId === undefined) return
  connection.cancel(taskId, AbortSignal.timeout(CANCEL_TIMEOUT)).catch(() => {})
}

// Codecs report bad parameters; here they are a bad answer.
function toOwn(err: unknown): unknown {
  if (codeOf(err) !== 'A2A_ERR_BAD_PARAMS') return err
  return new A2A_ERR_BAD_ANSWER((err as Error).message.slice(0, 200))
}

/** The service and its agent that a runnable calls. */
interface RemotePeer {
  /** The name of the runnable. */
  readonly name: string
  readonly url: string
  readonly agentName: string | undefined
}

/** Which conversations of a service belong to our sessions. Kept in the stores of the run, so that any node continues them. */
class RemoteSessions {
  readonly #peer: RemotePeer
  // For stores that keep none.
  readonly #own = createInProcessRemoteSessionStore()

  constructor(peer: RemotePeer) {
    this.#peer = peer
  }

  async find(context: RunContext): Promise<Partial<RemoteSession>> {
    return (await this.#storeOf(context).load(this.#keyOf(context), this.#remoteOf(context))) ?? {}
  }

  async keep(context: RunContext, { contextId, taskId, status }: RemoteParts): Promise<void> {
    const store = this.#storeOf(context)
    const [key, remote] = [this.#keyOf(context), this.#remoteOf(context)]
    if (contextId === undefined || contextId === '') return store.remove(key, remote)
    const waits = status.state === 'input-required' && taskId !== undefined
    await store.save(key, remote, { contextId, ...(waits && { taskId }) })
  }

  #storeOf({ stores }: RunContext): RemoteSessionStore {
    return stores.remoteSessions ?? this.#own
  }

  #keyOf({ registry, sessionOwner, sessionId }: RunContext): SessionKey {
    return { registry, kind: 'agent', name: this.#peer.name, owner: sessionOwner, sessionId }
  }

  // A team may have several members of one name. Hashed, since a URL may have credentials.
  #remoteOf({ source }: RunContext): string {
    const { url, agentName = null } = this.#peer
    return hash('sha256', JSON.stringify([url, agentName, ...source]), 'base64url')
  }
}
