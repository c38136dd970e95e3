import { hash } from 'node:crypto'
import { defined, type Principal, type RunBody, type Runnable, type StartKey } from '@svc/contract'
import {
  ownerOfSessions,
  requireAllowed,
  requireExposed,
  requireSession,
  runsOfConversation,
  startUnlessWaiting,
  tieToClient,
  toStartOptions
} from '@svc/surface'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { UI_ERR_BAD_REQUEST, UI_ERR_CHAT_WAITS } from '../errors.ts'
import { toInput } from '../messages/messages-of-run.ts'
import { MessageChunks } from '../projection/message-chunks.ts'
import type { Surface } from '../surface.ts'
import type { UiMessage } from '../wire/messages.ts'
import { viewIn, openStream, type Chat } from './continue-run.ts'
import type { ChatBody } from './chat-schemas.ts'

/** The last runs with the id of a chat, of any runnable. */
const LOOKED_AT = 20

/**
 * Starts a run with the last message, which is a user's, and streams it. A message that is edited or answered again follows the answer
 * before it, on a branch of its own; any other the newest turn. The same message, sent again, gets the stream of the same run.
 * @throws RUN_ERR_SESSION_NOT_FOUND, UI_ERR_FORBIDDEN, UI_ERR_MISSING_SCOPE, UI_ERR_UNKNOWN_RUNNABLE, UI_ERR_BAD_MESSAGE, UI_ERR_FOREIGN_USER, UI_ERR_CHAT_WAITS, and the errors of
 * `RunEngine.start`
 */
export async function startTurn(
  surface: Surface,
  chat: Chat,
  request: FastifyRequest & { body: ChatBody },
  reply: FastifyReply
): Promise<ReadableStream<string>> {
  const { kind, name, sessionId } = chat
  const { body, caller: principal, headers, log } = request
  await requireAllowed(surface, principal, 'run', { kind, name })
  const runnable = await requireExposed(surface, kind, name)
  const message = body.messages.at(-1)!
  const input = toInput(message, runnable)
  const { userId, apiKey, whenBusy, metadata, instructions, tools } = body
  const onDisconnect = body.onDisconnect ?? surface.onDisconnect
  const asked = {
    input,
    sessionId,
    ...defined({ userId, apiKey, whenBusy, metadata, instructions, tools })
  } as RunBody
  const options = toStartOptions(surface, runnable, { body: asked, principal, onDisconnect, headers, log })
  const isAgain = body.trigger === 'regenerate-message'
  if (isAgain && hadAnswer(body)) await requireChat(surface, chat, principal)
  const afterTurn = isAgain || isEdit(body) ? await turnBefore(surface, chat, runnable, request) : undefined
  const run = await startUnlessWaiting(
    surface.runs,
    runnable,
    input,
    {
      ...options,
      ...(afterTurn !== undefined && { afterTurn }),
      ...(!isAgain && { startKey: toStartKey(chat, message, body) })
    },
    UI_ERR_CHAT_WAITS
  )
  tieToClient(surface.replies, reply, run, onDisconnect)
  return openStream(surface, reply, run.runId, new MessageChunks(viewIn(surface, chat, request)))
}

// Without an answer before, a page sends its first message again, which was refused or never arrived.
function hadAnswer({ messageId, messages }: ChatBody): boolean {
  return messageId !== undefined || messages.some(({ role }) => role === 'assistant')
}

// A run that waits for its first turn is not in a session yet.
async function requireChat(surface: Surface, chat: Chat, principal: Principal): Promise<void> {
  const [run] = await runsOfConversation(surface, chat, principal, LOOKED_AT)
  if (run === undefined) await requireSession(surface, chat, principal)
}

// With the id of a message of the user, the client has replaced it.
function isEdit({ messageId, messages }: ChatBody): boolean {
  return messageId !== undefined && messages.some(({ id, role }) => id === messageId && role === 'user')
}

/**
 * The run of the last answer before the message that is the newest turn's or an earlier one's; null if there is none. Answers that left no
 * turn, such as failed ones, are passed over.
 */
async function turnBefore(
  { exposed, runs, ...surface }: Surface,
  { kind, name, sessionId, userId }: Chat,
  runnable: Runnable,
  { body, caller }: { body: ChatBody; caller: FastifyRequest['caller'] }
): Promise<string | null> {
  const { sessions } = runs.stores
  if (runnable.takesTurns !== true || sessions.hasTurn === undefined)
    throw new UI_ERR_BAD_REQUEST(`messages of the ${kind} "${name}" cannot be edited or answered again`)
  const owner = ownerOfSessions({ exposed, ...surface }, caller, userId)
  const { registry } = exposed.startOptions(runnable)
  for (const { id, role } of body.messages.slice(0, -1).toReversed())
    if (role === 'assistant' && (await sessions.hasTurn({ registry, owner, kind, name, sessionId }, id)))
      return id
  return null
}

// The content is part of the key, so that every other message is another start.
function toStartKey(
  { kind, name, sessionId }: Chat,
  { id, parts }: UiMessage,
  { messageId, userId }: ChatBody
): StartKey {
  const content = JSON.stringify([kind, name, sessionId, userId, id, messageId, parts])
  return { key: `ui:${hash('sha256', content, 'base64url')}`, hash: '' }
}
