import type { ContractTest } from '@svc/contract'

export type { ContractTest } from '@svc/contract'

/** A text with characters that terminate or escape strings in some databases. */
export const HOSTILE_TEXT = 'a\u0000b \u001a0\u001a1\u001a \u0001 \\0 \\u0000 \u007f \u2028 \ufffd 𝄞'

/** Creates a fresh store for one test; `close` is called when the test is over. */
export type MakeStore<S> = () => Promise<S & { close?(): Promise<void> }>

/** Runs a test with a fresh store. */
export function withStore<S>(
  t: ContractTest,
  make: MakeStore<S>,
  name: string,
  run: (t: ContractTest, store: S) => Promise<void>
): void {
  t.test(name, {}, async (child: ContractTest) => {
    const store = await make()
    try {
      await run(child, store)
    } finally {
      await store.close?.()
    }
  })
}

/** The `code` of the error that a call throws or rejects with; `none` if it does neither. */
export async function codeOf(call: () => unknown): Promise<unknown> {
  try {
    await call()
    return 'none'
  } catch (err) {
    return (err as { code?: unknown }).code ?? err
  }
}
