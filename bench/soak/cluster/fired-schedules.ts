import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Random } from '../random.ts'
import { Fatal } from '../agents/service.ts'
import { send } from './clients.ts'
import type { Reach } from './reach.ts'

// Looks for those that have not fired, and milliseconds between two of them.
const LOOKS = 60
const PAUSE = 500

/**
 * Makes a schedule of one instant. A request whose answer is lost makes another schedule, which fires too.
 * @param within milliseconds until then, at least and at most
 */
export async function scheduleOnce(
  reach: Reach,
  random: Random,
  [soonest, latest]: readonly [number, number]
): Promise<void> {
  await reach.persist(async (url) => {
    const at = new Date(Date.now() + soonest + random.below(latest - soonest)).toISOString()
    const body = { kind: 'workflow', name: 'tick', at, input: 'Go.', metadata: { tick: randomUUID() } }
    const { code } = (await send(`${url}/api/schedules`, body, [201, 400])) as { code?: string }
    // A node that was stopped meanwhile finds it over.
    if (code === 'RUN_ERR_SCHEDULE_PAST') throw new Error(code)
    if (code !== undefined) throw new Fatal(`a schedule was refused: ${code}`)
  })
}

interface Record {
  readonly metadata?: { readonly tick?: string }
  readonly status?: string
}

/** Waits until each schedule has fired; gives those that have not exactly one completed run. */
export async function findMisfired(reach: Reach): Promise<string[]> {
  for (let looks = 1; ; looks++) {
    const schedules = await listAll(reach, '/api/schedules?limit=100', 'schedules')
    const runs = Map.groupBy(await listAll(reach, '/api/runs?name=tick&limit=100', 'runs'), tickOf)
    const wrong = schedules.flatMap((schedule) => {
      const statuses = (runs.get(tickOf(schedule)) ?? []).map(({ status }) => status)
      return statuses.join() === 'completed' ? [] : [`${tickOf(schedule)}: ${statuses.join() || 'no run'}`]
    })
    if (wrong.length === 0 || looks === LOOKS) return wrong
    await pause(PAUSE)
  }
}

function tickOf({ metadata }: Record): string {
  return metadata?.tick ?? ''
}

// All pages of a list.
async function listAll(reach: Reach, path: string, field: string): Promise<Record[]> {
  const all: Record[] = []
  for (let cursor: string | null | undefined = ''; typeof cursor === 'string';) {
    const more = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const page = await reach.persist(async (url) => {
      const response = await fetch(url + path + more)
      if (response.status >= 500) throw new Error(String(response.status))
      if (response.status !== 200) throw new Fatal(`${path}: ${response.status} ${await response.text()}`)
      return (await response.json()) as { nextCursor?: string | null }
    })
    all.push(...(page as never as { [name: string]: Record[] })[field]!)
    cursor = page.nextCursor
  }
  return all
}
