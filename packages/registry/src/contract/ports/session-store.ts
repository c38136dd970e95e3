import { Type, type Static } from '@sinclair/typebox'
import { TextContentPartSchema, UrlContentPartSchema } from '../content-part.ts'
import { GLOBAL_REGISTRY, type RunnableKey } from '../names.ts'
import { ToolErrorSchema } from '../part.ts'
import type { Awaitable } from './awaitable.ts'

const providerOptions = {
  providerOptions: Type.Optional(Type.Unknown({ description: 'What the model provider wants back' }))
}

/** Binary content that was sent once: what it was, not the bytes. */
export const ContentReferenceSchema = Type.Object(
  {
    type: Type.Union([Type.Literal('image'), Type.Literal('audio'), Type.Literal('file')]),
    mimeType: Type.String(),
    filename: Type.Optional(Type.String()),
    sha256: Type.String(),
    size: Type.Integer({ description: 'Bytes' })
  },
  { title: 'ContentReference' }
)
export type ContentReference = Static<typeof ContentReferenceSchema>

/** One message of a session. */
export const SessionMessageSchema = Type.Union(
  [
    Type.Object({
      role: Type.Literal('user'),
      content: Type.Union([
        Type.String(),
        Type.Array(Type.Union([TextContentPartSchema, UrlContentPartSchema, ContentReferenceSchema]))
      ])
    }),
    Type.Object({
      role: Type.Literal('assistant'),
      text: Type.String(),
      toolCalls: Type.Optional(
        Type.Array(
          Type.Object({
            toolCallId: Type.String(),
            toolName: Type.String(),
            args: Type.Unknown(),
            ...providerOptions
          })
        )
      ),
      ...providerOptions
    }),
    Type.Object({
      role: Type.Literal('tool'),
      toolCallId: Type.String(),
      toolName: Type.String(),
      result: Type.Optional(Type.Unknown()),
      error: Type.Optional(ToolErrorSchema)
    })
  ],
  { title: 'SessionMessage' }
)
export type SessionMessage = Static<typeof SessionMessageSchema>

/** Whose conversation with whom. */
export interface SessionKey extends RunnableKey {
  readonly owner: string
  readonly sessionId: string
}

/** Keeps the messages of conversations. */
export interface SessionStore {
  /** The newest `maxMessages` messages, oldest first. */
  load(key: SessionKey, maxMessages: number): Awaitable<SessionMessage[]>
  /** Adds the messages of one turn, all or none. A turn that was saved before (the same `turnId`) is not added again. */
  append(key: SessionKey, turnId: string, messages: readonly SessionMessage[]): Awaitable<void>
  /** Forgets a conversation. */
  remove(key: SessionKey): Awaitable<void>
  /** Removes the sessions that the store's retention no longer keeps; gives how many. */
  sweep(now: number): Awaitable<number>
  /**
   * Waits until no other turn of this session is under way, in the order of the calls, and gives the function that ends
   * this one. @throws the signal's reason when it aborts first
   */
  lock(key: SessionKey, signal: AbortSignal): Awaitable<() => void>
}

/**
 * One text for a key. Ids of registries and names have no slash, and the session's length is part of it: the fields cannot
 * run into each other. Sessions of the global registry have the keys of before there were ids.
 */
export function sessionKeyText({ registry, owner, kind, name, sessionId }: SessionKey): string {
  const key = `${kind}/${name}/${sessionId.length}/${sessionId}${owner}`
  return registry === GLOBAL_REGISTRY ? key : `/${registry}/${key}`
}
