import { ChildGuard } from '../../guards/child-guard.ts'

/** Does all of it, so many at once; the first that fails ends the others. @throws what it throws */
export async function allAtOnce<T>(
  signal: AbortSignal,
  work: readonly ((signal: AbortSignal) => Promise<T>)[],
  concurrency = work.length
): Promise<T[]> {
  const guard = new ChildGuard(signal)
  const outputs: T[] = []
  let next = 0
  const worker = async () => {
    while (next < work.length) {
      const index = next++
      outputs[index] = await work[index]!(guard.signal)
    }
  }
  try {
    await guard.wait(Promise.all(Array.from({ length: Math.min(concurrency, work.length) }, worker)))
    return outputs
  } catch (err) {
    next = work.length
    guard.end(err)
    throw err
  } finally {
    guard.close()
  }
}
