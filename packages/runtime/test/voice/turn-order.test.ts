import { setTimeout as wait } from 'node:timers/promises'
import { defineTool } from '@svc/runtime'
import { toneSpeech, toneTranscription, type ScriptedTurn, type TestVoiceLink } from '@svc/runtime/testing'
import t from 'tap'
import { startCall } from '../helpers/start-call.ts'

t.setTimeout(300_000)

const TURNS = Number(process.env['VOICE_TURNS'] ?? 60)

/** Mulberry32: the same numbers for the same seed. */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** What is wrong with the order of the outputs. */
function faultsOf({ outputs }: TestVoiceLink): string[] {
  const faults: string[] = []
  const known = new Set<string>()
  const understood = new Set<string>()
  let open: string | undefined
  let last: string | undefined
  for (const output of outputs) {
    if (output.type === 'response.start') {
      if (open !== undefined) faults.push(`two responses at once: ${open}, ${output.responseId}`)
      open = output.responseId
    }
    if (output.type === 'response.end') open = undefined
    if (output.type === 'transcript' && output.final) understood.add(output.itemId)
    if (output.type !== 'item' && output.type !== 'answer.start') continue
    if (output.previousItemId !== last) faults.push(`${output.itemId} does not follow ${last}`)
    last = output.itemId
    if (output.type === 'item') known.add(output.itemId)
    // Each turn before the answer has its words; those after it are of the next answer.
    else if (understood.size === 0) faults.push(`${output.itemId} answers nothing`)
  }
  return faults
}

t.test(`${TURNS} turns with random delays, tools and interruptions`, async (t) => {
  const seed = Number(process.env['VOICE_SEED'] ?? Date.now() % 100_000)
  t.comment(`VOICE_SEED=${seed}`)
  const random = createRandom(seed)
  const some = (most: number) => Math.floor(random() * most)
  const results = new Set<string>()
  const prompts: string[] = []
  let count = 0
  const look = defineTool({
    ...{ name: 'look', description: 'Looks', input: { type: 'object' } },
    async execute() {
      await wait(some(15))
      const result = `result-${++count};`
      results.add(result)
      return result
    }
  })
  const { link, run, session } = await startCall(t, {
    script: ({ prompt }): ScriptedTurn => {
      prompts.push(JSON.stringify(prompt))
      const last = prompt.at(-1)
      const usesTool = last?.role === 'user' && some(2) === 0
      const text = last?.role === 'tool' ? 'I have looked.' : 'All is well here. Do not worry.'
      return { text, delay: some(4), ...(usesTool && { toolCalls: [{ toolName: 'look' }] }) }
    },
    agent: { tools: [look], history: { maxMessages: 10_000 } },
    voice: {
      listen: toneTranscription({ calls: () => ({ delay: some(8) }) }),
      speak: toneSpeech({ calls: () => ({ delay: some(5) }) }),
      turns: { interrupt: { after: 60 } }
    },
    link: { playback: 'reports' }
  })
  const play = setInterval(() => {
    const last = link.outputs.findLast((output) => output.type === 'audio')
    if (last !== undefined && some(3) === 0) link.played(last.itemId, last.startMs + 50)
  }, 2)
  const said: string[] = []
  for (let turn = 0; turn < TURNS; turn++) {
    const text = `turn ${turn};`
    said.push(text)
    link.speak(text, 600)
    await link.next('item')
    if (some(3) > 0) await wait(some(80))
  }
  await link.next('state', ({ state }) => state === 'listening')
  const isDone = () => (prompts.at(-1) ?? '').includes(said.at(-1)!)
  while (!isDone()) await wait(5)
  clearInterval(play)
  link.hangUp()
  await run.result()
  const statuses = link.all('response.end').map(({ status }) => status)
  t.comment(`${statuses.length} responses, ${results.size} tools, ${link.all('clear').length} interruptions`)
  t.strictSame(faultsOf(link), [])
  const messages = await session()
  const asked = messages
    .flatMap((message) => (message.role === 'user' ? [message.content as string] : []))
    .join('\n')
  t.equal(asked, said.join('\n'), 'each turn is answered once, in its order')
  const kept = messages.flatMap((message) => (message.role === 'tool' ? [message.result] : []))
  t.strictSame(kept, [...results], 'no result of a tool is lost')
  const lost = kept.slice(0, -1).filter((result) => !prompts.at(-1)?.includes(result as string))
  t.strictSame(lost, [], 'the model knows each of them')
})
