/** The assertions that contract suites use; tap's `Test` has them, and adapters for other runners are small. */
export interface ContractTest {
  test(name: string, options: object, run: (t: never) => Promise<void>): unknown
  equal(found: unknown, wanted: unknown, ...message: [] | [string]): unknown
  same(found: unknown, wanted: unknown, ...message: [] | [string]): unknown
  ok(found: unknown, ...message: [] | [string]): unknown
}
