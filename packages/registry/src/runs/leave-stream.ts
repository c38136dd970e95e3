/**
 * Leaves what a runnable yields. A generator that waits for something sees it when its wait ends, which nobody waits for;
 * what it throws then goes to `onFault`.
 */
export async function leaveStream(
  iterator: AsyncIterator<unknown> | undefined,
  onFault: (err: unknown) => void = () => {}
): Promise<void> {
  try {
    await iterator?.return?.()
  } catch (err) {
    onFault(err)
  }
}
