import type { TempDirectory } from './temp-directory.ts'
import type { UploadedFile } from './uploaded-file.ts'

/** The fields and files of one request. The files go with the reply, or when the connection is lost before. */
export class Uploads {
  /** The text fields; also the `body` of the request. */
  readonly fields: Readonly<Record<string, string>>
  /** In the order in which they came. */
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

  /** Keeps the files beyond the reply, until this work has ended, well or badly. */
  keepUntil(work: Promise<unknown>): void {
    this.#directory.keepUntil(work)
  }
}
