import { Transform, type TransformCallback } from 'node:stream'
import { TestLog } from './tests/test-log.ts'

/** A reporter for `npx tap`, which prints what `npm test` does. */
export default class TapReporter extends Transform {
  readonly #log = new TestLog((line) => void this.push(`${line}\n`))
  readonly #parser = this.#log.createParser().parser

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback) {
    this.#parser.write(chunk)
    done()
  }

  override _flush(done: TransformCallback) {
    this.#parser.end()
    if (this.#log.tested > 0 && this.#log.failed === 0 && this.#parser.results?.ok !== true) {
      this.#log.fail('the run did not end as planned')
    }
    this.#log.end()
    done()
  }
}
