import { Type } from '@sinclair/typebox'
import { createInProcessStores, createRunEngine } from '@svc/registry'
import { Agent, defineSkill, defineTool, type AgentOptions } from '@svc/runtime'
import {
  prefixCacheModel,
  type OverflowProvider,
  type PrefixCacheModel,
  type PrefixCacheOptions
} from '@svc/testing'
import { generateText, jsonSchema, stepCountIs, tool, type ModelMessage } from 'ai'

const SESSIONS = 50
const TURNS = 40
const STEPS = 25
const PROMISED = 90
const PROVIDERS = ['anthropic', 'openai', 'google'] satisfies OverflowProvider[]
const INSTRUCTIONS = 'You answer in one sentence, and never guess. '.repeat(120)
const SKILL = { name: 'minutes', description: 'Writes minutes', instructions: 'Short ones.' }

type CallOptions = Parameters<NonNullable<PrefixCacheOptions['answer']>>[0]

const seen = (at: number) => `What stands at ${at}: ${'words '.repeat(20)}`
const now = (turn: number) => `It is minute ${turn}.`
const memoryOf = (turn: number) => `The user asked before: question ${turn - 1}`

// A third of the turns makes 25 calls, one a step.
function answer({ prompt }: CallOptions) {
  const asked = prompt.findLastIndex(({ role }) => role === 'user')
  const [first] = prompt[asked]!.content as { text: string }[]
  const turn = Number(/\d+/.exec(first!.text)?.[0])
  const steps = prompt.length - 1 - asked
  return turn % 3 === 0 && steps < 2 * STEPS
    ? { toolCalls: [{ toolName: 'look', args: { at: steps } }] }
    : { text: `This is the answer to turn ${turn}: ${'words '.repeat(20)}` }
}

/** A way to hold a conversation of 40 turns on a model. */
type Way = (model: PrefixCacheModel, session: number) => Promise<void>

const WAYS: Record<string, Way> = {
  'an agent': (model, session) =>
    talk(model, session, {
      instructions: INSTRUCTIONS,
      situation: ({ metadata }) => now(Number(metadata?.['turn'])),
      memory: { retrieve: ({ context }) => memoryOf(Number(context.metadata?.['turn'])), store: () => [] }
    }),
  'control: memory in front': (model, session) =>
    talk(model, session, {
      instructions: ({ metadata }) => {
        const turn = Number(metadata?.['turn'])
        return `${INSTRUCTIONS}\n\n${now(turn)}\n${memoryOf(turn)}`
      }
    }),
  'generateText of ai': (model) => talkByHand(model)
}

async function talk(model: PrefixCacheModel, session: number, options: Partial<AgentOptions>): Promise<void> {
  const look = defineTool({
    name: 'look',
    description: 'Looks something up',
    input: Type.Object({ at: Type.Integer() }),
    execute: ({ at }) => seen(at)
  })
  const agent = new Agent({
    name: 'bench',
    register: false,
    model,
    skills: [defineSkill(SKILL)],
    tools: [look],
    history: { maxMessages: 100_000 },
    maxSteps: STEPS + 1,
    ...options
  })
  const engine = createRunEngine({ stores: createInProcessStores() })
  for (let turn = 1; turn <= TURNS; turn++) {
    const given = { sessionId: `s${session}`, metadata: { turn: String(turn) } }
    await (await engine.start(agent, `Turn ${turn}`, given)).result()
  }
  await engine.close()
}

// As its documentation does it: the app keeps the messages, and puts time and memory into the system prompt.
async function talkByHand(model: PrefixCacheModel): Promise<void> {
  const generating = Object.assign(Object.create(model) as PrefixCacheModel, {
    doGenerate: (options: CallOptions) => generate(model, options)
  })
  const tools = {
    look: tool({
      description: 'Looks something up',
      inputSchema: jsonSchema<{ at: number }>({ type: 'object', properties: { at: { type: 'integer' } } }),
      execute: ({ at }) => seen(at)
    })
  }
  const messages: ModelMessage[] = []
  for (let turn = 1; turn <= TURNS; turn++) {
    messages.push({ role: 'user', content: `Turn ${turn}` })
    const { response } = await generateText({
      model: generating,
      system: `${INSTRUCTIONS}\n\n${now(turn)}\n${memoryOf(turn)}`,
      messages,
      tools,
      stopWhen: stepCountIs(STEPS + 1)
    })
    messages.push(...response.messages)
  }
}

async function generate(model: PrefixCacheModel, options: CallOptions) {
  const { stream } = await model.doStream(options)
  const content: object[] = []
  for await (const part of stream) {
    if (part.type === 'text-delta') content.push({ type: 'text', text: part.delta })
    if (part.type === 'tool-call') content.push(part)
    if (part.type === 'finish')
      return { content, finishReason: part.finishReason, usage: part.usage, warnings: [] }
  }
  throw new Error('the model did not end')
}

/** Percent of the prompt tokens that came from the cache, from the second turn of each session on. */
async function measure(way: Way, provider: OverflowProvider) {
  const model = prefixCacheModel({ provider, answer })
  let [prompt, cached, calls] = [0, 0, 0]
  for (let session = 0; session < SESSIONS; session++) {
    const before = model.calls.length
    await way(model, session)
    // The first turn makes one call.
    for (const { promptTokens, cachedTokens } of model.calls.slice(before + 1)) {
      prompt += promptTokens
      cached += cachedTokens
      calls++
    }
  }
  return { percent: (100 * cached) / prompt, refused: model.refusedMarks, calls }
}

/** Shows how much of the prompts of 50 sessions of 40 turns providers take from their caches. */
export async function report(): Promise<void> {
  console.log(`\n% of prompt tokens from the cache, from turn 2 on: ${SESSIONS} sessions of ${TURNS} turns\n`)
  console.log(`${'way'.padEnd(26)} ${'provider'.padEnd(12)} ${'cached'.padStart(8)}   calls   marks refused`)
  for (const [name, way] of Object.entries(WAYS))
    for (const provider of PROVIDERS) {
      const { percent, refused, calls } = await measure(way, provider)
      const figures = `${percent.toFixed(1).padStart(8)} ${String(calls).padStart(7)}   ${refused}`
      console.log(`${name.padEnd(26)} ${provider.padEnd(12)} ${figures}`)
    }
  console.log(`\npromised: at least ${PROMISED} % for an agent, no mark refused`)
}
