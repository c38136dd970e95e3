/** What a soak test found, and the most that it may be. */
export interface Finding {
  what: string
  value: number
  limit: number
  unit: string
}

/** Heap in use after garbage collection, in bytes. The process must run with `--expose-gc`. */
export function heapInUse(): number {
  if (globalThis.gc === undefined) throw new Error('run node with --expose-gc')
  for (let index = 0; index < 4; index++) globalThis.gc()
  // Buffers are among what is external.
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** Timers that are still armed in this process. */
export function activeTimers(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length
}
