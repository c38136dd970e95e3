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

/** Characters of a file name that are kept. */
const MAX_LENGTH = 255

/**
 * What a client calls its file, as a label: the base name without control and formatting characters, at most 255 UTF-16
 * units. `undefined` where nothing is left. Never to be used as a path.
 */
export function toFileName(given: string): string | undefined {
  const base = given.split(/[/\\]/).at(-1) ?? ''
  const clean = base
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '')
    .trim()
  if (clean === '' || clean === '.' || clean === '..') return undefined
  const name = clean.slice(0, MAX_LENGTH)
  // Not half of a surrogate pair at the end.
  return name.isWellFormed() ? name : name.slice(0, -1)
}
