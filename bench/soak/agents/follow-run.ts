import { isTerminalPart, type NumberedPart } from '@svc/registry'
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
export async function readLog(service: Persistent, runId: string): Promise<NumberedPart[]> {
  return service.persist(async (url) => {
    const response = await fetch(`${url}/api/runs/${runId}/stream`)
    const text = await response.text()
    return text
      .split('\n')
      .filter((line) => line.startsWith('data: '))
      .map((line) => JSON.parse(line.slice(6)) as NumberedPart)
  })
}

async function* readEvents(response: Response): AsyncGenerator<{ id: string | undefined; data: string }> {
  let text = ''
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk
    for (let end; (end = text.indexOf('\n\n')) >= 0; text = text.slice(end + 2)) {
      const lines = text.slice(0, end).split('\n')
      const field = (name: string) =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
      const data = field('data')
      if (data !== undefined) yield { id: field('id'), data }
    }
  }
}
