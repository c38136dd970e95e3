import { randomUUID } from 'node:crypto'
import { scriptedModel, type ScriptedModel } from '@svc/runtime/testing'
import type { FastifyInstance } from 'fastify'
import { toScript } from './script.ts'

type Prompt = Parameters<ScriptedModel['doStream']>[0]['prompt']

/** Adds `/run`, written by hand: it asks the model of our agents, reads its stream, calls its tools, and answers with a result like ours. */
export function serveModel(bare: FastifyInstance, variant: string): void {
  const model = scriptedModel(toScript(variant), { record: false })
  bare.post<{ Body: { input: string; sessionId?: string } }>('/run', async ({ body }) => {
    const began = performance.now()
    const prompt: Prompt = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: body.input }] }
    ]
    const toolCalls: object[] = []
    let [promptTokens, completionTokens] = [0, 0]
    for (;;) {
      const calls: { toolCallId: string; toolName: string; input: string }[] = []
      let [text, finishReason] = ['', '']
      const { stream } = await model.doStream({ prompt })
      for await (const part of stream) {
        if (part.type === 'text-delta') text += part.delta
        else if (part.type === 'tool-call') calls.push(part)
        else if (part.type === 'finish') {
          finishReason = part.finishReason.unified
          promptTokens += part.usage.inputTokens.total ?? 0
          completionTokens += part.usage.outputTokens.total ?? 0
        }
      }
      if (calls.length === 0) {
        const usage = { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens }
        const ids = { runId: randomUUID(), sessionId: body.sessionId ?? randomUUID() }
        const durationMs = performance.now() - began
        return { text, toolCalls, usage, structured: null, durationMs, ...ids, finishReason }
      }
      for (const { toolCallId, toolName, input } of calls) {
        const args = JSON.parse(input) as { a: number; b: number }
        const result = args.a + args.b
        toolCalls.push({ toolCallId, toolName, args, result, durationMs: 0 })
        prompt.push(
          { role: 'assistant', content: [{ type: 'tool-call', toolCallId, toolName, input: args }] },
          {
            role: 'tool',
            content: [{ type: 'tool-result', toolCallId, toolName, output: { type: 'json', value: result } }]
          }
        )
      }
    }
  })
}
