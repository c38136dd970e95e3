import { readFile } from 'node:fs/promises'

const INTERVAL_MS = 20
const PAGE = 4_096

/** True if process memory can be watched here; needs /proc. */
export const CAN_WATCH = process.platform === 'linux'

/** Calls `onExceeded` if a process and its descendants hold more than `maxRss` bytes. Returns a function that stops the watch. */
export function watchMemory(pid: number, maxRss: number, onExceeded: () => void): () => void {
  if (!CAN_WATCH) return () => {}
  let reading = false
  let stopped = false
  const look = async () => {
    if (reading) return
    reading = true
    const rss = await readRss(pid)
    reading = false
    if (rss > maxRss && !stopped) onExceeded()
  }
  const timer = setInterval(() => void look(), INTERVAL_MS)
  return () => {
    stopped = true
    clearInterval(timer)
  }
}

// Includes children: under bubblewrap the process inside is the one that counts.
async function readRss(pid: number): Promise<number> {
  try {
    const [statm, children] = await Promise.all([
      readFile(`/proc/${pid}/statm`, 'utf8'),
      readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')
    ])
    const below = children
      .split(' ')
      .filter(Boolean)
      .map((child) => readRss(Number(child)))
    const own = Number(statm.split(' ')[1]) * PAGE
    return own + (await Promise.all(below)).reduce((sum, rss) => sum + rss, 0)
  } catch {
    // The process has exited.
    return 0
  }
}
