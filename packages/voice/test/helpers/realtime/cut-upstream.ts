import { within } from '@svc/contract'
import { createRandom } from '../random.ts'
import { startAgentCall } from './start-agent-call.ts'

/** What became of the turns of calls whose model was cut off. */
export interface CutUpstream {
  readonly turns: number
  /** Connections to the model that were cut. */
  readonly cuts: number
  /** Turns that their session does not have once, in their place, with their whole answer. */
  readonly faults: readonly string[]
}

/** Events of a turn, in both directions. */
const EVENTS = 50
/** Milliseconds for an answer: the turn is lost if there is none. */
const DEADLINE = 10_000
/** Turns of a call. */
const TURNS = 5
/** Events of a new connection: what it is given of the conversation counts for no turn. */
const SETUP = /^session\.|^conversation\.item\.(?:create|added)$/

/** Calls an agent with a realtime model, and cuts the connection between the two `count` times, each at a random event of a turn. */
export async function cutUpstream(count: number, seed: number): Promise<CutUpstream> {
  const random = createRandom(seed)
  const faults: string[] = []
  let [turns, cuts, left] = [0, 0, Infinity]
  const isDue = (type: string) => !SETUP.test(type) && left-- === 0 && ++cuts > 0
  while (cuts < count) {
    const ends: (() => unknown)[] = []
    const { link, run, session } = await startAgentCall(
      { teardown: (end) => void ends.push(end) },
      {
        server: {
          tamper: (event) => (isDue(event.type) ? 'cut' : [event]),
          receive: ({ type }) => (isDue(type) ? 'cut' : true)
        }
      }
    )
    const expected: string[] = []
    for (let turn = 0; turn < TURNS; turn++) {
      const words = `turn ${turns++}`
      expected.push(words, `You said ${words}.`)
      left = cuts < count ? Math.floor(random() * EVENTS) : Infinity
      link.speak(words, 300)
      const answered = link
        .next('response.end')
        .then(() => link.next('state', ({ state }) => state === 'listening'))
      await within(DEADLINE, answered)
    }
    link.hangUp()
    await run.result()
    const kept = (await session()).map((message) =>
      message.role === 'assistant' ? message.text : message.role === 'user' ? message.content : ''
    )
    for (let at = 0; at < Math.max(kept.length, expected.length); at += 2) {
      const [found, wanted] = [kept, expected].map((all) => JSON.stringify(all.slice(at, at + 2)))
      if (found !== wanted) faults.push(`${found} instead of ${wanted}`)
    }
    for (const end of ends) await end()
  }
  return { turns, cuts, faults }
}
