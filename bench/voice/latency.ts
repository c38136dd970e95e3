import { createRunEngine } from '@svc/registry'
import { encodeTones } from '@svc/voice/testing'
import { Caller, RATE } from './caller.ts'
import { createPhone, SILENCE } from './phone.ts'

const QUESTION = 'What does the fox do?'
const ANSWER = 'It jumps over the dog.'

/** Milliseconds from the end of each turn to the first audio of its answer, sorted: the cost of the pipeline itself. */
export async function measureTurns(calls: number, turns: number): Promise<number[]> {
  const engine = createRunEngine()
  const phone = createPhone(ANSWER)
  const question = withSilence(encodeTones(QUESTION, RATE))
  const talk = async (index: number) => {
    const caller = new Caller(true)
    await caller.call(engine, phone)
    // Not all calls speak in the same moment.
    if (calls > 1) await caller.speak(new Int16Array((RATE / calls) * index), 'live')
    const latencies: number[] = []
    for (let turn = 0; turn < turns; turn++) {
      const [ended, answered, done] = [
        caller.next('speech.stop'),
        caller.next('audio'),
        caller.next('response.end')
      ]
      await caller.speak(question, calls > 1 ? 'live' : 'fast')
      latencies.push((await answered).at - (await ended).at)
      await done
    }
    await caller.hangUp()
    return latencies
  }
  const all = await Promise.all(Array.from({ length: calls }, (_, index) => talk(index)))
  await engine.close()
  return all.flat().toSorted((a, b) => a - b)
}

function withSilence(samples: Int16Array): Int16Array {
  const all = new Int16Array(samples.length + ((SILENCE + 200) * RATE) / 1_000)
  all.set(samples)
  return all
}
