import type { RunLog } from '@svc/contract'
import type { compileForeignSchema, ForeignSchema } from '@svc/contract/schemas'

/** Checks values against a schema of a server, compiled on first use. */
export class ForeignCheck {
  readonly #compile: () => ForeignSchema
  #compiled: ForeignSchema | undefined
  #logged = false

  constructor(compile: typeof compileForeignSchema, ...given: Parameters<typeof compileForeignSchema>) {
    this.#compile = () => compile(...given)
  }

  /** Describes why a value does not match; undefined if it matches. */
  faultOf(value: unknown): string | undefined {
    return (this.#compiled ??= this.#compile()).check(value)
  }

  /** Logs, once, the parts of the schema that are not checked. */
  logUnchecked(log: RunLog, toolName: string): void {
    const unchecked = this.#compiled?.leftOut ?? []
    if (this.#logged || unchecked.length === 0) return
    this.#logged = true
    log.warn({ toolName, unchecked }, 'part of the schema of an MCP tool is not checked')
  }
}
