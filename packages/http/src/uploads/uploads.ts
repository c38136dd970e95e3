import type { TempDirectory } from './temp-directory.ts'
import type { UploadedFile } from './uploaded-file.ts'

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
