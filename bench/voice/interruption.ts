import { setTimeout as pause } from 'node:timers/promises'
import { createRunEngine } from '@svc/registry'
import { encodeTones } from '@svc/voice/testing'
import { Caller, RATE } from './caller.ts'
import { createPhone } from './phone.ts'

const LONG = 'This answer is much longer than anyone would like. '.repeat(10)

/** Milliseconds from the first audio of someone who interrupts to the `clear` of the answer, sorted. */
export async function measureInterruptions(times: number): Promise<number[]> {
  const engine = createRunEngine()
  const phone = createPhone(LONG)
  const latencies: number[] = []
  const caller = new Caller(false)
  await caller.call(engine, phone)
  for (let time = 0; time < times; time++) {
    const [speaking, over] = [caller.next('audio'), caller.next('response.end')]
    caller.push({ type: 'text', text: 'Speak', respond: true })
    await speaking
    await pause(100 + 10 * time)
    const cleared = caller.next('clear')
    const beganAt = performance.now()
    const spoken = caller.speak(encodeTones('Stop it', RATE), 'live')
    latencies.push((await cleared).at - beganAt)
    await Promise.all([spoken, over])
    // The words that interrupted are a turn, and have an answer of their own.
    const next = caller.next('response.end')
    const silence = caller.speak(new Int16Array(RATE), 'live')
    await silence
    caller.push({ type: 'cancel' })
    await next
  }
  await caller.hangUp()
  await engine.close()
  return latencies.toSorted((a, b) => a - b)
}
