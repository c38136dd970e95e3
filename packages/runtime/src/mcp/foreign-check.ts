import type { RunLog } from '@svc/registry'
import type { compileForeignSchema, ForeignSchema } from '@svc/registry/schemas'

/** A check against a schema of a server, which is compiled when the first value is there. */
export class ForeignCheck {
  readonly #compile: () => ForeignSchema
  #compiled: ForeignSchema | undefined
  #logged = false

  constructor(compile: typeof compileForeignSchema, ...given: Parameters<typeof compileForeignSchema>) {
    this.#compile = () => compile(...given)
  }

  /** What is wrong with a value; undefined when it fits. */
  faultOf(value: unknown): string | undefined {
    return (this.#compiled ??= this.#compile()).check(value)
  }

  /** Logs once what of the schema is not checked. */
  logLeftOut(log: RunLog, toolName: string): void {
    const leftOut = this.#compiled?.leftOut ?? []
    if (this.#logged || leftOut.length === 0) return
    this.#logged = true
    log.warn({ toolName, leftOut }, 'a part of the schema of an MCP tool is not checked')
  }
}
