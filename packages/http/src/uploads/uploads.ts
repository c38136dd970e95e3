import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import type { TempDirectory } from './temp-directory.ts'

/** The fields and files of one request. The files are removed when the reply completes or the connection is lost. */
export class Uploads {
  /** The text fields; also the `body` of the request. */
  readonly fields: Readonly<Record<string, string>>
  /** In the order of the form. */
  readonly files: readonly UploadedFile[]
  readonly #directory: TempDirectory

  constructor(
    fields: Readonly<Record<string, string>>,
    files: readonly UploadedFile[],
    directory: TempDirectory
  ) {
    this.fields = fields
    this.files = files
    this.#directory = directory
  }

  /** Keeps the files beyond the reply, until the work settles. */
  keepUntil(work: Promise<unknown>): void {
    this.#directory.keepUntil(work)
  }
}

/** An uploaded file. Its content stays on disk until its `Uploads` are removed. */
export class UploadedFile {
  /** The name of the form field. */
  readonly fieldName: string
  /** The client's name for the file: a label, never a path. */
  readonly filename: string | undefined
  /** The declared type, or for `application/octet-stream` the detected one; lower case, no parameters. */
  readonly mimeType: string
  /** Bytes. */
  readonly size: number
  /** The SHA-256 of the content in hexadecimal digits. */
  readonly sha256: string
  readonly #path: string

  constructor(
    file: Pick<UploadedFile, 'fieldName' | 'filename' | 'mimeType' | 'size' | 'sha256'>,
    path: string
  ) {
    this.fieldName = file.fieldName
    this.filename = file.filename
    this.mimeType = file.mimeType
    this.size = file.size
    this.sha256 = file.sha256
    this.#path = path
  }

  /** Reads the content from its start; may be called more than once. */
  stream(): Readable {
    return createReadStream(this.#path)
  }
}

/** UTF-16 units of a file name. */
const MAX_LENGTH = 255

/**
 * Cleans a client's file name into a label: the base name without control and format characters, at most 255 UTF-16
 * units; undefined if nothing is left. Never use it as a path.
 */
export function toFileName(given: string): string | undefined {
  const base = given.split(/[/\\]/).at(-1) ?? ''
  const clean = base
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '')
    .trim()
  if (clean === '' || clean === '.' || clean === '..') return undefined
  const name = clean.slice(0, MAX_LENGTH)
  // The cut may split a surrogate pair.
  return name.isWellFormed() ? name : name.slice(0, -1)
}
