import { isTerminalPart, type NumberedPart } from '@svc/registry'
import { readEvents, readLog as readLogOf } from '../../../test/helpers/wires/read-log.ts'
import type { Random } from '../random.ts'
import { Fatal, type Persistent } from './service.ts'

/** How a run is followed. */
interface FollowOptions {
  random: Random
  /** Also gets the JSON of the part as it was received. */
  onPart: (part: NumberedPart, json: string) => void
  /** Milliseconds without a part after which a connection counts as broken; default unlimited. */
  patience?: number
}

/**
 * Reads the log of a run to its end, as one client that resumes by `Last-Event-ID` whenever its connection breaks. Some
 * connections it breaks itself.
 */
export async function followRun(
  service: Persistent,
  runId: string,
  { random, onPart, patience }: FollowOptions
): Promise<NumberedPart[]> {
  const parts: NumberedPart[] = []
  const isOver = () => parts.length > 0 && isTerminalPart(parts.at(-1)!)
  while (!isOver()) {
    const leaveAfter = random.chance(0.3) ? 1 + random.below(40) : Infinity
    await service.persist(async (url) => {
      const last = parts.at(-1)?.seq
      const silent = new AbortController()
      const timer = patience === undefined ? undefined : setTimeout(() => silent.abort(), patience)
      try {
        const response = await fetch(`${url}/api/runs/${runId}/stream`, {
          headers: last === undefined ? {} : { 'last-event-id': String(last) },
          signal: silent.signal
        })
        if (response.status === 404) throw new Fatal(`run ${runId} is lost`)
        if (response.status !== 200) throw new Error(`${response.status}`)
        let left = leaveAfter
        for await (const { id, data } of readEvents(response)) {
          timer?.refresh()
          // Transient parts have no number.
          if (id === undefined) continue
          const part = JSON.parse(data) as NumberedPart
          if (id !== String(part.seq)) throw new Fatal(`run ${runId}: event ${id} is part ${part.seq}`)
          parts.push(part)
          onPart(part, data)
          if (--left === 0) return
        }
        if (!isOver()) throw new Error('suspended')
      } finally {
        clearTimeout(timer)
      }
    })
  }
  return parts
}

/** Reads the whole log of a run that has ended. */
export function readLog(service: Persistent, runId: string): Promise<NumberedPart[]> {
  return service.persist((url) => Array.fromAsync(readLogOf(url, runId)))
}
