import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'

/** A file that was uploaded. Its content is on disk for as long as its `Uploads` are kept. */
export class UploadedFile {
  /** The form field that it came in. */
  readonly fieldName: string
  /** What the client calls it: a label, never a path. */
  readonly filename: string | undefined
  /** The declared type, or where that says nothing, the one that the content shows; lower case, no parameters. */
  readonly mimeType: string
  /** Bytes. */
  readonly size: number
  readonly #path: string

  constructor(file: Pick<UploadedFile, 'fieldName' | 'filename' | 'mimeType' | 'size'>, path: string) {
    this.fieldName = file.fieldName
    this.filename = file.filename
    this.mimeType = file.mimeType
    this.size = file.size
    this.#path = path
  }

  /** Reads the content from its start; may be called more than once. */
  stream(): Readable {
    return createReadStream(this.#path)
  }
}
