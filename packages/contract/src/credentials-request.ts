import type { Static, TSchema } from '@sinclair/typebox'
import type { Wait } from './input.ts'
import type { InputAction } from './part.ts'
import type { Secret } from './secret.ts'

/** Credentials that the caller of a run is asked for; `timeout` is 24 hours by default. */
export interface CredentialsRequest<S extends TSchema = TSchema> extends Wait {
  /** For what they are needed, and how to obtain them; at most 4,096 characters. */
  message: string
  /**
   * JSON Schema of the credentials, at most 16,384 characters. An answer without content that fits is refused, and the run waits on.
   * Default: any content, or none if the caller grants access elsewhere.
   */
  schema?: S
  /** The tool call that asks. */
  toolCallId?: string
}

/** The answer to a request for credentials. */
export interface CredentialsAnswer<T = unknown> {
  /** With `accept`, either the answer has credentials, or the caller has granted access elsewhere. */
  action: InputAction
  credentials?: Secret<T>
  /** True if no answer came in time; `action` is then `cancel`. */
  expired?: boolean
}

/** As `Static`, of the schema of a request. */
export type CredentialsOf<S extends TSchema> = CredentialsAnswer<Static<S>>
