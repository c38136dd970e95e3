// Assertions for the type checker; nothing here runs.
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { Type } from '@sinclair/typebox'
import type { RunContext, Runnable, ToolCall, YieldedPart } from '@svc/registry'
import { openai } from '@ai-sdk/openai'
import {
  Agent,
  defineTool,
  hasToolCall,
  stepCountIs,
  Team,
  toolContent,
  Workflow,
  type JsonSchema,
  type ReferencedContent,
  type TeamOptions,
  type Tool
} from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import { type } from 'arktype'
import * as v from 'valibot'
import * as z from 'zod'
import { exactly } from './exact.ts'

const model = scriptedModel('')
const tool = { name: 'x', description: 'X' }
declare const remote: Runnable
declare const context: RunContext
declare const json: JsonSchema

// Tools: the arguments have the type of the schema.
defineTool({
  ...tool,
  input: Type.Object({ a: Type.Number(), b: Type.Optional(Type.String()) }),
  execute: (args) => exactly<{ b?: string; a: number }>()(args)
})
defineTool({
  ...tool,
  input: z.object({ a: z.string().transform(Number), b: z.string().default('x') }),
  approval: ({ a }) => a > 1,
  execute: (args) => exactly<{ a: number; b: string }>()(args)
})
defineTool({
  ...tool,
  input: toStandardJsonSchema(v.object({ a: v.pipe(v.string(), v.transform(Number)) })),
  execute: (args) => exactly<{ a: number }>()(args)
})
defineTool({
  ...tool,
  input: type({ a: 'number', 'b?': 'string' }),
  execute: (args) => exactly<{ a: number; b?: string }>()(args)
})
defineTool({
  ...tool,
  input: { type: 'object', properties: { a: { type: 'number' } } },
  execute: (args) => exactly<Readonly<Record<string, unknown>>>()(args)
})
// `inputSchema` and `outputSchema` are their names, `input` and `output` the earlier ones; not both.
const add = defineTool({
  name: 'add',
  description: 'Adds',
  inputSchema: z.object({ a: z.number(), b: z.number().default(0) }),
  approval: ({ a }) => a > 1,
  execute: (args) => {
    exactly<{ a: number; b: number }>()(args)
    return args.a + args.b
  }
})
const find = defineTool({
  ...tool,
  name: 'find',
  inputSchema: Type.Object({ word: Type.String() }),
  outputSchema: z.object({ at: z.string().transform(Number) }),
  execute: ({ word }) => ({ at: `${word.length}` })
})
defineTool({
  ...tool,
  inputSchema: z.object({}),
  outputSchema: z.object({ n: z.number() }),
  // @ts-expect-error -- n is a number
  execute: () => ({ n: 'one' })
})
// @ts-expect-error -- one of the two names
defineTool({ ...tool, inputSchema: z.object({}), input: z.object({}), execute: () => 1 })
// @ts-expect-error -- one of the two names
defineTool({
  ...tool,
  input: z.object({}),
  output: z.object({}),
  outputSchema: z.object({}),
  execute: () => ({})
})
// @ts-expect-error -- the arguments need a schema
defineTool({ ...tool, execute: () => 1 })

// A tool has the types of its arguments and of its results, which are JSON.
exactly<Tool<{ a: number; b: number }, number, 'add'>>()(add)
exactly<Tool<{ word: string }, { at: number }, 'find'>>()(find)
const read = defineTool({
  ...tool,
  name: 'read',
  inputSchema: z.object({}),
  execute: async () => ({
    at: new Date(),
    lines: ['a', undefined] as const,
    size: () => 1,
    [Symbol.iterator]: 1
  })
})
exactly<Tool<Record<string, never>, { at: string; lines: ['a', null] }, 'read'>>()(read)
const log = defineTool({ ...tool, name: 'log', input: z.object({}), execute: () => {} })
const draw = defineTool({ ...tool, name: 'draw', input: z.object({}), execute: () => toolContent([]) })
exactly<Tool<Record<string, never>, null, 'log'>>()(log)
exactly<Tool<Record<string, never>, ReferencedContent, 'draw'>>()(draw)
const tools: readonly Tool[] = [add, find, read, log, draw]

// The calls in a result are a union by `toolName` if the tools of the agent are known.
const calling = new Agent({ name: 'calling', model, tools: [add, find] })
for (const call of (await calling.run('')).toolCalls) {
  if (call.toolName === 'add') exactly<number | undefined>()(call.result)
  else if (call.toolName === 'find') exactly<number | undefined>()(call.result?.at)
  else exactly<'load_skill'>()(call.toolName)
}
exactly<number | undefined>()(
  (await calling.stream('').result).toolCalls.find((call) => call.toolName === 'add')?.result
)
// @ts-expect-error -- the agent has no such tool
void (await calling.run('')).toolCalls.some(({ toolName }) => toolName === 'sub')
exactly<ToolCall[]>()((await new Agent({ name: 'some', model, tools }).run('')).toolCalls)
exactly<ToolCall[]>()((await new Agent({ name: 'varying', model, tools: () => [add] }).run('')).toolCalls)
exactly<ToolCall[]>()((await new Agent({ name: 'none', model }).run('')).toolCalls)
const callers: readonly Agent[] = [calling, new Agent({ name: 'one', model, tools: [log] })]

// Their results have the one of `output`.
defineTool({ ...tool, input: z.object({}), output: z.object({ n: z.number() }), execute: () => ({ n: 1 }) })
defineTool({
  ...tool,
  input: z.object({}),
  output: z.object({ n: z.number() }),
  // @ts-expect-error -- n is a number
  execute: () => ({ n: 'one' })
})
// @ts-expect-error -- no such option
defineTool({ ...tool, input: z.object({}), execute: () => 1, timeOut: 5 })

// Agents: `structured` has the type of `output`; null if the run ended without an answer.
const inZod = new Agent({ name: 'a', model, output: z.object({ a: z.string().transform(Number) }) })
const inTypeBox = new Agent({ name: 'b', model, output: Type.Object({ b: Type.Integer() }) })
const inArkType = new Agent({ name: 'c', model, output: type({ c: 'string' }) })
const inValibot = new Agent({ name: 'd', model, output: toStandardJsonSchema(v.object({ d: v.boolean() })) })
const plain = new Agent({ name: 'e', model })
exactly<{ a: number } | null>()((await inZod.run('')).structured)
exactly<{ b: number } | null>()((await inTypeBox.run('')).structured)
exactly<{ c: string } | null>()((await inArkType.run('')).structured)
exactly<{ d: boolean } | null>()((await inValibot.run('')).structured)
exactly<unknown>()((await plain.run('')).structured)
const recursive = Type.Recursive((This) => Type.Object({ inner: Type.Array(This) }))
const tree = (await new Agent({ name: 'f', model, output: recursive }).run('')).structured
exactly<string[] | undefined>()(tree?.inner.flatMap(({ inner }) => Object.keys(inner)))
const agents: readonly Agent[] = [
  ...callers,
  inZod,
  inTypeBox,
  plain,
  new Agent({ name: 'g', model, output: json })
]
const served: readonly Runnable[] = agents
// @ts-expect-error -- no such option
void new Agent({ name: 'h', model, maxStep: 5 })

// Runs: options or a context.
await inZod.run('', { sessionId: 's', userId: 'u', signal: new AbortController().signal })
await plain.run('', context)
inZod.stream('', { runId: 'r' })
const stream = inZod.stream('')
for await (const part of stream) exactly<YieldedPart>()(part)
for await (const text of stream.text) exactly<string>()(text)
exactly<{ a: number } | null>()((await stream.result).structured)
// @ts-expect-error -- no such option
await inZod.run('', { session: 's' })
await served[0]?.run('', context)

// Teams: the structured answer of the member that answers, or of `merge`.
const sequence = new Team({ name: 'a', mode: 'sequence', members: [plain, inZod] })
const route = new Team({ name: 'b', mode: 'route', model, members: [inZod, inTypeBox] })
const merged = new Team({
  name: 'c',
  mode: 'parallel',
  members: [plain, remote],
  merge: (answers) => ({ text: '', structured: { count: answers.length } })
})
exactly<{ a: number } | null>()((await sequence.run('')).structured)
exactly<{ a: number } | { b: number } | null>()((await route.run('', { sessionId: 's' })).structured)
exactly<{ count: number } | null>()((await merged.run('')).structured)
exactly<string | undefined>()((await sequence.stream('').result).toolCalls[0]?.toolName)
exactly<unknown>()(
  (await new Team({ name: 'd', mode: 'coordinate', model, members: served }).run('')).structured
)
const teams: readonly Team[] = [sequence, route, merged]
// @ts-expect-error -- no such mode
void new Team({ name: 'e', mode: 'vote', members: teams })
// @ts-expect-error -- no such option
void new Team({ name: 'e', mode: 'sequence', members: teams, leader: model })
// Each mode has its own options.
void new Team({
  name: 'f',
  mode: 'parallel',
  members: teams,
  model,
  instructions: 'Be brief.',
  sessions: context.stores.sessions
})
void new Team({ name: 'f', mode: 'sequence', members: teams, timeout: { run: 1 }, delegates: false })
// @ts-expect-error -- a sequence has no leader
void new Team({ name: 'f', mode: 'sequence', members: teams, model })
// @ts-expect-error -- nor instructions for one
void new Team({ name: 'f', mode: 'sequence', members: teams, instructions: 'Be brief.' })
// @ts-expect-error -- a leader needs a model
void new Team({ name: 'f', mode: 'coordinate', members: teams })
// @ts-expect-error -- the same
void new Team({ name: 'f', mode: 'route', members: teams, maxSteps: 2 })
// @ts-expect-error -- only a parallel team merges
void new Team({ name: 'f', mode: 'route', members: teams, model, merge: () => '' })
// @ts-expect-error -- a leader or `merge`
void new Team({ name: 'f', mode: 'parallel', members: teams, model, merge: () => '' })
// @ts-expect-error -- one of them
void new Team({ name: 'f', mode: 'parallel', members: teams })
const either: TeamOptions = { name: 'f', mode: 'parallel', members: teams, merge: () => '' }
void new Team(either)

// Workflows: steps see the transformed input and the outputs before them; `run` takes the input before its transforms.
const flow = new Workflow({
  name: 'a',
  input: z.object({ n: z.string().transform(Number) }),
  steps: (start) =>
    start
      .step('half', ({ input, previous }) => {
        exactly<{ n: number }>()(input)
        exactly<{ n: number }>()(previous)
        return input.n / 2
      })
      .step('typed', inZod, { input: ({ previous }) => `${previous}` })
      .step('text', plain)
      .step('remote', remote)
      .step('team', sequence)
      .step('asked', remote, { output: Type.Object({ ok: Type.Boolean() }) })
      .step('end', ({ steps, previous }) => {
        exactly<number>()(steps.half)
        exactly<{ a: number }>()(steps.typed)
        exactly<string>()(steps.text)
        exactly<string>()(steps.remote)
        exactly<{ a: number }>()(steps.team)
        exactly<{ ok: boolean }>()(previous)
        return { ok: previous.ok }
      })
})
exactly<{ ok: boolean } | null>()((await flow.run({ n: '4' })).structured)
exactly<{ ok: boolean } | null>()((await flow.stream({ n: '4' }).result).structured)
// @ts-expect-error -- n is given as a string
await flow.run({ n: 4 })
const texts = new Workflow({ name: 'b', steps: (start) => start.step('a', () => 'text') })
exactly<null>()((await texts.run('anything')).structured)
const declared = new Workflow({
  name: 'c',
  output: z.object({ n: z.number().transform(String) }),
  steps: (start) => start.step('n', () => ({ n: 1 }))
})
exactly<{ n: string } | null>()((await declared.run('')).structured)
void new Workflow({
  name: 'd',
  output: z.object({ n: z.number() }),
  // @ts-expect-error -- n is a number
  steps: (start) => start.step('n', () => ({ n: 'one' }))
})
void new Workflow({
  name: 'e',
  steps: (start) => start.step('inner', declared).step('end', ({ previous }) => previous.n.toUpperCase())
})
const workflows: readonly Workflow[] = [texts]
void [workflows, flow satisfies Runnable, declared satisfies Runnable]

// A duplicate name is an error that says so.
void new Workflow({
  name: 'f',
  // @ts-expect-error -- Argument of type '"a"' is not assignable to parameter of type '"There is a step "a" already"'
  steps: (start) => start.step('a', () => 1).step('a', () => 2)
})

// The loop: tools of the run, tools of providers, stop conditions, changes of a step.
void new Agent({
  name: 'i',
  model,
  tools: ({ principal }) => (principal.scopes.length > 0 ? [openai.tools.webSearch({})] : []),
  toolChoice: { toolName: 'web_search' },
  stopWhen: [stepCountIs(3), hasToolCall('done'), ({ steps }) => steps.length > 2],
  prepareStep: ({ stepNumber, messages }) =>
    stepNumber === 0 ? { toolChoice: 'required' } : { messages: messages.slice(-3) }
})
// @ts-expect-error -- no such choice
void new Agent({ name: 'j', model, toolChoice: 'always' })
