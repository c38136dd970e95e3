import { cpus } from 'node:os'

/** Returns a function that measures how many cores of this machine had nothing to do since its last call. */
export function watchIdleCores(read = cpus): () => number {
  let before = totalOf(read())
  return () => {
    const now = totalOf(read())
    const all = now.all - before.all
    const share = all === 0 ? 0 : (now.idle - before.idle) / all
    before = now
    return share * now.cores
  }
}

function totalOf(cores: ReturnType<typeof cpus>) {
  const idle = cores.reduce((sum, { times }) => sum + times.idle, 0)
  const all = cores.reduce((sum, { times }) => sum + Object.values(times).reduce((a, b) => a + b), 0)
  return { idle, all, cores: cores.length }
}
