import { Type } from '@sinclair/typebox'
import type { NumberedPart, Runnable, RunResult } from '@svc/registry'
import { Agent, defineTool, Team, type AgentOptions } from '@svc/runtime'
import { scriptedModel, type ScriptedTurn } from '@svc/runtime/testing'
import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import t from 'tap'
import { survive, validParts } from '../helpers/crashing.ts'
import { makeWorkflow } from '../helpers/make-workflow.ts'

/** What happened in all processes. */
interface Seen {
  /** The prompts of the models, by the index of their step, as JSON. */
  prompts: string[]
  tools: string[]
}

interface Case {
  name: string
  make: (seen: Seen) => Runnable
  isSlow?: boolean
}

const count = (prompt: LanguageModelV4Prompt) => prompt.filter(({ role }) => role === 'tool').length

/** A model that calls a tool in each of its first steps, and answers then; what it says depends on the prompt only. */
function model(seen: Seen, name: string, steps: readonly Partial<ScriptedTurn>[]) {
  return scriptedModel(
    ({ prompt }) => {
      seen.prompts.push(`${name}: ${JSON.stringify(prompt)}`)
      return steps[count(prompt)] ?? { text: [`${name} `, 'says ', `${JSON.stringify(prompt).length}`] }
    },
    { modelId: name }
  )
}

const look = (seen: Seen, idempotent = true) =>
  defineTool({
    name: 'look',
    description: 'Looks',
    input: Type.Object({ at: Type.String() }),
    idempotent,
    execute({ at }, { idempotencyKey }) {
      seen.tools.push(`${at} ${idempotencyKey.split('/').slice(1).join('/')}`)
      return { seen: at }
    }
  })

const call = (toolName: string, args: object, toolCallId: string) => ({ toolName, args, toolCallId })

function agent(seen: Seen, name = 'agent', options: Partial<AgentOptions> = {}) {
  return new Agent({
    name,
    register: false,
    instructions: () => `You are ${name}.`,
    model: model(seen, name, [
      { text: ['let ', 'me'], toolCalls: [call('look', { at: 'a' }, 'c1'), call('look', { at: 'b' }, 'c2')] },
      { reasoning: 'hm', toolCalls: [call('look', { at: 'c' }, 'c3')] }
    ]),
    tools: [look(seen)],
    ...options
  })
}

const plain = (seen: Seen, name: string) => new Agent({ name, register: false, model: model(seen, name, []) })

// At most so many steps begin at once.
const MEMBERS = 2

const cases: Case[] = [
  { name: 'an agent without tools', make: (seen) => plain(seen, 'plain') },
  { name: 'an agent with tools', make: (seen) => agent(seen) },
  {
    name: 'an agent with a structured answer that it corrects',
    make: (seen) =>
      agent(seen, 'structured', {
        output: Type.Object({ n: Type.Number() }),
        model: scriptedModel(({ prompt }) => {
          seen.prompts.push(JSON.stringify(prompt))
          if (count(prompt) === 0) return { toolCalls: [call('look', { at: 'a' }, 'c1')] }
          return prompt.at(-1)?.role === 'tool' ? '{"n":"x"}' : '{"n":1}'
        })
      })
  },
  {
    name: 'a team in sequence',
    make: (seen) =>
      new Team({
        name: 'team',
        register: false,
        mode: 'sequence',
        members: [agent(seen, 'one'), plain(seen, 'two')]
      })
  },
  {
    name: 'a team in parallel with a function',
    make: (seen) =>
      new Team({
        name: 'team',
        register: false,
        mode: 'parallel',
        members: [agent(seen, 'one'), plain(seen, 'two')],
        merge: (answers) => ({ text: answers.map(({ text }) => text).join('+'), structured: answers.length })
      })
  },
  {
    name: 'a team in parallel with a leader',
    make: (seen) =>
      new Team({
        name: 'team',
        register: false,
        mode: 'parallel',
        members: [agent(seen, 'one'), plain(seen, 'two')],
        model: model(seen, 'lead', [])
      })
  },
  {
    name: 'a team that routes',
    make: (seen) =>
      new Team({
        name: 'team',
        register: false,
        mode: 'route',
        members: [agent(seen, 'one'), plain(seen, 'two')],
        model: model(seen, 'lead', [{ toolCalls: [call('route', { member: 'one' }, 'r1')] }])
      })
  },
  {
    name: 'a team that coordinates',
    make: (seen) =>
      new Team({
        name: 'team',
        register: false,
        mode: 'coordinate',
        members: [agent(seen, 'one'), plain(seen, 'two')],
        model: model(seen, 'lead', [
          { toolCalls: [call('one', { message: 'x' }, 'm1'), call('two', { message: 'y' }, 'm2')] },
          { toolCalls: [call('two', { message: 'y' }, 'm3')] }
        ])
      })
  },
  {
    name: 'a workflow with agents',
    make: (seen) =>
      makeWorkflow((flow) =>
        flow.step('first', agent(seen, 'one')).parallel('both', (inner) => ({
          left: inner.step('left', plain(seen, 'two')),
          right: inner.step('right', agent(seen, 'three'))
        }))
      )
  }
]

for (const { name, make, isSlow } of cases.flatMap((each) => [each, { ...each, isSlow: true }]))
  t.test(`${name} survives a crash at every ${isSlow ? 'slow ' : ''}write`, async (t) => {
    const unbroken: Seen = { prompts: [], tools: [] }
    const whole = await survive(() => make(unbroken), [], { options: { sessionId: 's' }, isSlow })
    t.equal(whole.status, 'completed')
    t.comment(`${whole.appends} appends, ${whole.parts.length} parts`)
    for (let lifetime = 1; lifetime < whole.appends; lifetime++) {
      const seen: Seen = { prompts: [], tools: [] }
      const broken = await survive(() => make(seen), [lifetime], { options: { sessionId: 's' }, isSlow })
      const after = `after ${lifetime} appends`
      t.equal(broken.status, 'completed', after)
      t.same(answerOf(broken.result), answerOf(whole.result), after)
      t.same(
        broken.parts.map(({ seq }) => seq),
        broken.parts.map((_, index) => index + 1),
        `the log has no gap ${after}`
      )
      t.same(comparable(broken.parts), comparable(whole.parts), `the same parts ${after}`)
      // A call whose `step.start` was the write that failed shows in no part.
      const repeated = seen.prompts.length - unbroken.prompts.length
      const voided = broken.parts.filter((part) => part.type === 'step.start' && part.attempt > 1).length
      t.ok(repeated <= voided + MEMBERS, `${repeated} calls of models are repeated ${after}`)
      t.same(new Set(seen.prompts), new Set(unbroken.prompts), `the same prompts ${after}`)
      t.same(new Set(seen.tools), new Set(unbroken.tools), `the same calls of tools ${after}`)
    }
  })

function answerOf(result: RunResult | null | undefined) {
  const { text, structured, toolCalls, finishReason } = result!
  return {
    text,
    structured,
    finishReason,
    toolCalls: toolCalls
      .map(({ durationMs: _, ...each }) => each)
      .toSorted((a, b) => key(a).localeCompare(key(b)))
  }
}

const key = (value: unknown) => JSON.stringify(value)

// Parallel members may have another order, and attempts and times differ.
function comparable(parts: readonly NumberedPart[]) {
  const bySource = new Map<string, unknown[]>()
  for (const part of validParts(parts)) {
    const { seq: _, at: __, ...rest } = part as NumberedPart & { at?: number }
    const source = (part.source ?? []).join('/')
    const list = bySource.get(source) ?? []
    bySource.set(source, list)
    const entries = Object.entries(rest).filter(
      ([name]) => !['durationMs', 'firstTokenMs', 'attempt', 'runId', 'sessionId'].includes(name)
    )
    list.push(Object.fromEntries(entries))
  }
  return Object.fromEntries([...bySource].toSorted(([a], [b]) => a.localeCompare(b)))
}
