/** Settings of a node, given to its process. */
export interface NodeOptions {
  /** Of the database. Its `application_name` is that of the process. */
  readonly url: string
  /** The name of the process, as its effects have it. */
  readonly writer: string
  /** The file of effects. */
  readonly effects: string
  /** The file of what models were shown. */
  readonly shown: string
  /** A file for its log. */
  readonly log: string
  readonly lease: { readonly ttl: number; readonly beat: number }
  /** Milliseconds. */
  readonly drainTimeout: number
}
