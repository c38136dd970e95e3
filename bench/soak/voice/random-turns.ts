import { setTimeout as wait } from 'node:timers/promises'
import { within } from '@svc/contract'
import { defineTool } from '@svc/runtime'
import { toneSpeech, toneTranscription, voiceLink, type TestVoiceLink } from '@svc/voice/testing'
import { type ScriptedTurn } from '@svc/runtime/testing'
import { ANSWERER, createPhone } from '../../voice/phone.ts'
import { startCall } from '../../voice/start-call.ts'
import { Random } from '../random.ts'

/** Milliseconds for an answer: the turn is lost if there is none. */
const DEADLINE = 10_000
/** Of the default format: 24,000 samples of two bytes a second. */
const BYTES_PER_MS = 48

/** What became of the turns of a call. */
export interface RandomTurns {
  readonly responses: number
  readonly tools: number
  readonly interruptions: number
  /** By the rule that was broken; all empty if all is well. */
  readonly faults: Readonly<Record<string, readonly unknown[]>>
}

/**
 * Speaks the turns of one call while transcription, model, tool and speech take random times, and answers are played at a random pace:
 * some turns wait for the answer before, some interrupt it.
 */
export async function takeRandomTurns(turns: number, seed: number): Promise<RandomTurns> {
  const random = new Random(seed)
  const results = new Set<string>()
  let lastPrompt = ''
  const look = defineTool({
    name: 'look',
    description: 'Looks',
    input: { type: 'object' },
    async execute() {
      await wait(random.below(15))
      const result = `result-${results.size + 1};`
      results.add(result)
      return result
    }
  })
  const script = ({ prompt }: { prompt: readonly { role: string }[] }): ScriptedTurn => {
    lastPrompt = JSON.stringify(prompt)
    const last = prompt.at(-1)
    const usesTool = last?.role === 'user' && random.chance(0.5)
    const text = last?.role === 'tool' ? 'I have looked.' : 'All is well here. Do not worry.'
    return { text, delay: random.below(4), ...(usesTool && { toolCalls: [{ toolName: 'look' }] }) }
  }
  const phone = createPhone(script, {
    answerer: { tools: [look], history: { maxMessages: 10_000 } },
    listen: toneTranscription({ calls: () => ({ delay: random.below(8) }) }),
    speak: toneSpeech({ calls: () => ({ delay: random.below(5) }) }),
    turns: { interrupt: { after: 60 } }
  })
  const link = voiceLink({ playback: 'reports' })
  const call = await startCall(phone, link)
  let seen = 0
  const playing = setInterval(() => {
    const last = link.outputs.findLast((output) => output.type === 'audio')
    if (last !== undefined && random.chance(1 / 3))
      link.played(last.itemId, last.startMs + last.audio.byteLength / BYTES_PER_MS)
    // Not every client confirms where it stopped.
    for (const output of link.outputs.slice(seen))
      if (output.type === 'clear' && random.chance(0.8))
        link.push({ type: 'truncate', itemId: output.itemId, heardMs: output.heardMs })
    seen = link.outputs.length
  }, 2)
  const said = Array.from({ length: turns }, (_, turn) => `turn ${turn};`)
  for (const text of said) {
    link.speak(text, 600)
    await link.next('item')
    const pace = random.next()
    if (pace < 0.5) await within(DEADLINE, link.next('response.end'))
    else if (pace < 0.75) await wait(random.below(80))
  }
  for (let waited = 0; waited < DEADLINE && !lastPrompt.includes(said.at(-1)!); waited += 5) await wait(5)
  await within(
    DEADLINE,
    link.next('state', ({ state }) => state === 'listening')
  )
  clearInterval(playing)
  link.hangUp()
  await call.end()

  const messages = await call.sessionOf(ANSWERER)
  const asked = messages.flatMap((each) => (each.role === 'user' ? [each.content as string] : []))
  // Calls that an interruption came before were skipped: they have no result.
  const kept = messages.flatMap((each) => (each.role === 'tool' ? (each.result ?? []) : []))
  return {
    responses: link.all('response.end').length,
    tools: results.size,
    interruptions: link.all('clear').length,
    faults: {
      'outputs out of order': faultsOf(link),
      'turns lost, doubled or out of order': differences(asked.join('\n').split('\n'), said),
      'results of tools lost': differences(kept, [...results]),
      // The last one may be of an answer that was interrupted: no prompt follows.
      'results unknown to the model': kept
        .slice(0, -1)
        .filter((result) => !lastPrompt.includes(result as string))
    }
  }
}

/** What differs at the same place of two lists. */
function differences(found: readonly unknown[], expected: readonly unknown[]): unknown[] {
  const length = Math.max(found.length, expected.length)
  return Array.from({ length }, (_, at) => ({ found: found[at], expected: expected[at] })).filter(
    (each) => each.found !== each.expected
  )
}

/** What is wrong with the order of the outputs. */
function faultsOf({ outputs }: TestVoiceLink): string[] {
  const faults: string[] = []
  let isUnderstood = false
  let open: string | undefined
  let last: string | undefined
  for (const output of outputs) {
    if (output.type === 'response.start') {
      if (open !== undefined) faults.push(`two responses at once: ${open}, ${output.responseId}`)
      open = output.responseId
    }
    if (output.type === 'response.end') open = undefined
    if (output.type === 'transcript' && output.final) isUnderstood = true
    if (output.type !== 'item' && output.type !== 'answer.start') continue
    if (output.previousItemId !== last) faults.push(`${output.itemId} does not follow ${last}`)
    last = output.itemId
    if (output.type === 'answer.start' && !isUnderstood) faults.push(`${output.itemId} answers nothing`)
  }
  return faults
}
