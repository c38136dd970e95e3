import { Type } from '@sinclair/typebox'
import { expose, type Registry, type RunContext, type YieldedPart } from '@svc/registry'
import { Agent, defineTool } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import { HOSTILE, HOSTILE_GROUPS } from './hostile-texts.ts'

const usage = { promptTokens: 1, completionTokens: 1, totalTokens: 2 }
/** Characters of what is a name or a title; texts, arguments and results are as long as they are. */
const NAME = 4_000

const textsOf = ({ metadata }: RunContext) =>
  HOSTILE_GROUPS[Number(metadata['group'])]!.map(([, text]) => text)
const nest = (text: string) =>
  Object.fromEntries([[text.slice(0, NAME), [text, { [`${text.slice(0, 100)} `]: text }]]])

/** A page, and an action with its screenshot. */
function* filmOf(name: string, args: object, number: number): Generator<YieldedPart> {
  const source = [name]
  const [first, second] = ['a', 'b'].map((shot) => ({
    toolCallId: `shot-${number}-${shot}`,
    toolName: `browser_${name}`,
    source
  }))
  yield { type: 'browser.page', index: 0, url: name, title: name, source }
  for (const call of [first!, second!]) {
    yield { type: 'tool.call', args, ...call }
    yield { type: 'tool.result', result: args, durationMs: 1, ...call }
    const file = { fileId: name, filename: name, mimeType: 'image/png', purpose: 'screenshot' }
    yield { type: 'file', toolCallId: call.toolCallId, source, ...file }
  }
}

/** What was heard in a call, and the answer to it. */
function* callOf(itemId: string, text: string): Generator<YieldedPart> {
  yield { type: 'voice.transcript', itemId, text, final: true, startMs: 0, endMs: 1, language: itemId }
  yield { type: 'voice.turn', index: 0, itemId, status: 'completed', heardMs: 1, text, latency: {} }
}

/** A hostile text in every field that a model or a tool fills. */
function* hostileParts(text: string, index: number): Generator<YieldedPart> {
  const name = text.slice(0, NAME)
  const call = { toolCallId: `call-${index}`, toolName: name }
  const failing = { toolCallId: `${name}${index}`, toolName: 'fails' }
  const error = { code: name, message: text }
  yield { type: 'step.start', index, attempt: 1, model: { provider: name, modelId: name } }
  yield {
    type: 'compaction',
    index,
    reason: 'size',
    before: 2,
    after: 1,
    messages: 1,
    keeps: 0,
    cut: 0,
    text
  }
  yield { type: 'reasoning', text }
  yield { type: 'text', text: text.slice(0, text.length / 2) }
  yield { type: 'text', text: text.slice(text.length / 2) }
  yield { type: 'tool.call', args: nest(text), ...call }
  yield { type: 'tool.result', result: nest(text), durationMs: 1, ...call }
  yield { type: 'tool.call', args: text, ...failing }
  yield { type: 'tool.error', error, ...failing }
  yield { type: 'citation', url: name, title: name, quote: name, documentId: name }
  yield { type: 'citation', url: `https://a.example/${name}`, quote: text }
  yield { type: 'data', name, value: nest(text) }
  yield { type: 'file', fileId: name, mimeType: name, filename: name, purpose: name }
  yield { type: 'file', url: name, mimeType: 'image/svg+xml', filename: name, size: 1 }
  yield* filmOf(name, nest(text), index)
  yield* callOf(`${name}${index}`, text)
  yield { type: 'text', text, source: [name, 'member'] }
  yield { type: 'structured', value: nest(text) }
  yield { type: 'step', index, usage, model: { provider: name, modelId: name } }
}

/**
 * Adds two agents that write hostile texts into every field that a model or a tool fills: `hostile` ends, `asking` waits for an approval
 * and for an answer to each. The metadata `group` is the number of a group of texts.
 */
export function addHostile(registry: Registry): void {
  registry.add({
    kind: 'agent',
    name: 'hostile',
    description: HOSTILE['script element'],
    async *stream(_input, context) {
      const texts = textsOf(context)
      for (const [index, text] of texts.entries()) yield* hostileParts(text, index)
      throw expose({ code: 'HOSTILE', message: texts.join('\n\n') })
    }
  })
  registry.add({
    kind: 'agent',
    name: 'asking',
    async *stream(_input, context) {
      const waiting: Promise<unknown>[] = []
      for (const [index, text] of textsOf(context).entries()) {
        // Questions are stored, and no store takes halves of surrogate pairs.
        const name = text.slice(0, 1_000).toWellFormed()
        const call = { toolCallId: `call-${index}`, toolName: name }
        yield { type: 'tool.call', args: nest(text), ...call }
        const field = { title: name, description: name, default: name }
        const schema = Type.Object({
          // The service refuses this key in a schema.
          [name === '__proto__' ? 'proto' : name.slice(0, 200)]: Type.String(field),
          choice: Type.Union([Type.Literal(name), Type.Literal(2)])
        })
        waiting.push(
          context.approvals.request({ args: nest(text), ...call }),
          context.ask({ message: name, schema })
        )
      }
      await Promise.all(waiting)
    }
  })
}

/** Adds an agent that calls a tool with what it is told, and then answers with it. */
export function addEcho(registry: Registry): void {
  const echo = defineTool({
    name: 'echo',
    description: 'Echoes',
    input: Type.Object({ text: Type.String() }),
    execute: ({ text }) => nest(text)
  })
  const model = scriptedModel(({ prompt }) => {
    const { content } = prompt.findLast(({ role }) => role === 'user')!
    const text = (content as { text?: string }[]).map((part) => part.text ?? '').join('')
    if (prompt.at(-1)!.role === 'tool') return { reasoning: text, text: [text] }
    return { toolCalls: [{ toolName: 'echo', args: { text } }] }
  })
  new Agent({ name: 'echo', model, registry, tools: [echo] })
}
