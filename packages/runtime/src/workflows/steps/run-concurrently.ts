import { ChildGuard } from '../../guards/child-guard.ts'

/** Runs `work` with at most `concurrency` in parallel; the first failure ends the rest. @throws the first error */
export async function runConcurrently<T>(
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
