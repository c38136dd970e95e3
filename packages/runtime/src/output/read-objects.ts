import { PartialObjects, type YieldedPart } from '@svc/contract'

/** What an agent has written of its answer, or the answer itself. */
export type ObjectSoFar<Structured> =
  | {
      /** Not validated: an object or an array, whose last texts may continue. */
      readonly partial: object
    }
  | {
      /** The validated value. */
      readonly structured: Structured
    }

type Parts = AsyncGenerator<YieldedPart, void>

/** Reads the parts of a run for the answer as it grows. Leaving it early ends the run. @throws the errors of the run */
export async function* readObjects<Structured>(parts: Parts): AsyncGenerator<ObjectSoFar<Structured>, void> {
  const objects = new PartialObjects()
  let next: Promise<IteratorResult<YieldedPart, void>> | undefined
  try {
    for (;;) {
      next ??= parts.next()
      const wait = objects.dueIn()
      const read = wait === undefined ? await next : await readUntil(next, wait)
      if (read !== undefined) {
        if (read.done === true) return
        next = undefined
        const { value: part } = read
        objects.add(part)
        if (part.type === 'structured' && !part.source?.length) yield { structured: part.value as Structured }
      }
      const partial = objects.take()
      if (partial !== undefined) yield { partial }
    }
  } finally {
    // A part may be awaited, for which nobody waits any more.
    next?.catch(() => {})
    await parts.return()
  }
}

// Undefined if it takes longer.
async function readUntil<T>(read: Promise<T>, ms: number): Promise<T | undefined> {
  const { promise: over, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  try {
    return (await Promise.race([read, over])) ?? undefined
  } finally {
    clearTimeout(timer)
  }
}
