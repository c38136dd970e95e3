// A symbol, so that JSON, schemas and readers do not see it; two copies of this package share it.
const REPLAYED = Symbol.for('svc.replayed-part')

/** Marks a part that the log of an earlier process has; copies of the marked one are marked too. */
export function asReplayed<P extends object>(part: P): P {
  return { ...part, [REPLAYED]: true }
}

/** True if the log of an earlier process has the part. */
export function isReplayed(part: unknown): boolean {
  return (part as { [REPLAYED]?: true } | undefined)?.[REPLAYED] === true
}
