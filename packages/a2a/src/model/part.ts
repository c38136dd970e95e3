/** What every kind of part may carry. */
interface About {
  filename?: string
  mediaType?: string
  metadata?: Record<string, unknown>
}

/** A piece of a message or an artifact: a text, a file (base64 in `raw`, or where it is), or any JSON value. */
export type MessagePart =
  | (About & { text: string })
  | (About & { raw: string })
  | (About & { url: string })
  | (About & { data: unknown })
