/** `true` if two types are the same, `any` and `readonly` included. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

/** Compiles only if the type of a value is exactly `Expected`: `exactly<number>()(value)`. */
export function exactly<Expected>() {
  return <Actual>(_value: Actual, ..._same: Same<Actual, Expected> extends true ? [] : [never]): void => {}
}
