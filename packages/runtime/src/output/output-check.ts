import { RUN_ERR_BAD_OUTPUT } from '../errors.ts'
import type { OutputFormat } from './output-format.ts'

/** Checks the answers of one run against its format; a model may mend its answer once. */
export class OutputCheck {
  readonly #format: OutputFormat
  #mending = false
  /** The value of the answer that fitted. */
  value: unknown

  constructor(format: OutputFormat) {
    this.#format = format
  }

  /** What the model is to be told when its answer does not fit. @throws RUN_ERR_BAD_OUTPUT the second time */
  check(text: string): string | undefined {
    const read = this.#format.read(text)
    if ('fault' in read) {
      if (this.#mending) throw new RUN_ERR_BAD_OUTPUT(read.fault)
      this.#mending = true
      return this.#format.askToMend(read.fault)
    }
    this.value = read.value
    return undefined
  }
}
