import type { TSchema } from '@sinclair/typebox'
import type { RunnableDefinition } from '@svc/registry'

/** An agent that says one thing, then waits until it is released or canceled. */
export function createWaiting(name = 'waiting') {
  const waiters: (() => void)[] = []
  let reached = Promise.withResolvers<void>()
  let aborted = Promise.withResolvers<void>()
  const runnable: RunnableDefinition = {
    kind: 'agent',
    name,
    async *stream(_input, { signal }) {
      yield { type: 'text', text: 'one ' }
      await new Promise<void>((resolve, reject) => {
        waiters.push(resolve)
        signal.addEventListener('abort', () => {
          aborted.resolve()
          reject(signal.reason as Error)
        })
        reached.resolve()
      })
      yield { type: 'text', text: 'two' }
    }
  }
  return {
    runnable,
    goOn: () => waiters.splice(0).forEach((go) => go()),
    /** Resolves once it waits. */
    reached: () => reached.promise,
    /** The time of its abort, by `performance.now()`. */
    aborted: () => aborted.promise,
    /** Resets it for another run. */
    reset() {
      reached = Promise.withResolvers()
      aborted = Promise.withResolvers()
    }
  }
}

/** An agent that requests an approval and reports the answer. */
export const asker: RunnableDefinition = {
  kind: 'agent',
  name: 'asker',
  async *stream(_input, { approvals }) {
    const call = { toolCallId: 'c1', toolName: 'remove', args: { path: 'x' } }
    yield { type: 'tool.call', ...call }
    const { approved, args, reason } = await approvals.request(call)
    yield { type: 'text', text: `${approved} ${JSON.stringify(args ?? null)} ${reason ?? ''}`.trim() }
  }
}

/** An agent that emits every kind of part: two steps, a tool, reasoning, a member's text, a structured answer. */
export const worker: RunnableDefinition = {
  kind: 'agent',
  name: 'worker',
  async *stream() {
    yield { type: 'step.start', index: 0, attempt: 1 }
    yield { type: 'text', text: 'Let me look. ' }
    yield { type: 'tool.call', toolCallId: 'a', toolName: 'add', args: { a: 1 } }
    yield { type: 'tool.call', toolCallId: 'b', toolName: 'say', args: {} }
    yield { type: 'tool.result', toolCallId: 'b', toolName: 'say', result: 'words', durationMs: 1 }
    yield { type: 'tool.result', toolCallId: 'a', toolName: 'add', result: { sum: 3 }, durationMs: 1 }
    yield { type: 'text', text: 'not mine', source: ['member'] }
    yield { type: 'step.start', index: 1, attempt: 1 }
    yield { type: 'reasoning', text: 'hm' }
    yield { type: 'text', text: 'void' }
    yield { type: 'step.start', index: 1, attempt: 2 }
    yield { type: 'text', text: 'It is ' }
    yield { type: 'text', text: '3.' }
    yield { type: 'structured', value: { sum: 3 } }
  }
}

/** An agent that says something and fails. */
export const failing: RunnableDefinition = {
  kind: 'agent',
  name: 'failing',
  async *stream() {
    yield { type: 'text', text: 'half' }
    throw new Error('secret of the inside')
  }
}

/** An agent that emits a number of chunks. */
export function chunks(count: number, name = `chunks-${count}`): RunnableDefinition {
  return {
    kind: 'agent',
    name,
    async *stream() {
      for (let index = 0; index < count; index++) yield { type: 'text', text: `word ${index} ` }
    }
  }
}

/** An agent whose tools return every kind of value, and nothing. */
export const giver: RunnableDefinition = {
  kind: 'agent',
  name: 'giver',
  async *stream() {
    for (const [index, result] of [[1, 'two'], 3, false, 'text', '', {}, undefined].entries()) {
      const call = { toolCallId: `c${index}`, toolName: 'give' }
      yield { type: 'tool.call', ...call, args: {} }
      yield { type: 'tool.result', ...call, result, durationMs: 1 }
    }
    yield { type: 'structured', value: [{ a: null }] }
  }
}

/** An agent that asks a question, with this schema of the answer, and reports the answer. */
export function createQuestioner(schema?: TSchema, name = 'questioner'): RunnableDefinition {
  return {
    kind: 'agent',
    name,
    run: async (_input, context) =>
      JSON.stringify(await context.ask({ message: 'Which size?', ...(schema && { schema }) }))
  }
}

/** An agent that calls a tool of its caller, and reports the outcome. */
export const clientCaller: RunnableDefinition = {
  kind: 'agent',
  name: 'caller',
  run: async (_input, context) =>
    JSON.stringify(await context.callClient({ toolCallId: 'c', toolName: 'locate', args: { near: 'x' } }))
}

/** An agent with a step that outlasts a shutdown, until it is released. */
export function createLasting() {
  let held = true
  const runnable: RunnableDefinition = {
    kind: 'agent',
    name: 'lasting',
    resumable: true,
    async *stream(_input, context) {
      yield { type: 'text', text: 'half, ' }
      await context.step('long', () => (held ? new Promise(() => {}) : null))
      yield { type: 'text', text: 'whole' }
    }
  }
  return { runnable, letGo: () => (held = false) }
}
