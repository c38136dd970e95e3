import type { NumberedPart, Part, PartOf } from '@svc/contract'

/** Chooses a whole number from 0 up to a bound, without it. */
export type Choose = (below: number) => number

const usage = { promptTokens: 1, completionTokens: 1, totalTokens: 2 }
const expiresAt = '2026-01-01T00:00:00.000Z'

/** The log of a random run of an agent with members: steps that are repeated, calls of every kind, answers, files, sources and data. */
export function randomLog(choose: Choose): NumberedPart[] {
  const parts: Part[] = [{ type: 'start', runId: 'r', sessionId: 's', kind: 'agent', name: 'a', input: 'Hi' }]
  const chance = (percent: number) => choose(100) < percent
  let inputs = 0

  const say = (source: string[]) => {
    for (let count = choose(4); count > 0; count--) {
      const text = ['', 'a ', 'b\n', '"c" ', 'd'][choose(5)]!
      parts.push({ type: chance(70) ? 'text' : 'reasoning', text, ...place(source) })
      if (chance(15)) parts.push({ type: 'citation', url: 'https://example.com', ...place(source) })
      if (chance(10)) parts.push({ type: 'data', name: 'chart', value: choose(9), ...place(source) })
      if (chance(10))
        parts.push({ type: 'file', url: 'https://example.com/f', mimeType: 'image/png', ...place(source) })
    }
  }
  const askFor = (toolCallId: string, source: string[]): boolean => {
    const id = `r.${++inputs}`
    const call = { toolCallId, toolName: 'act', ...place(source) }
    parts.push({ type: 'tool.approval.request', approvalId: id, args: {}, expiresAt, ...call })
    const approved = chance(70)
    const edited = approved && chance(30) && { args: { edited: true } }
    parts.push({
      type: 'tool.approval.response',
      approvalId: id,
      toolCallId,
      approved,
      ...edited,
      ...place(source)
    })
    return approved
  }
  const question = (toolCallId: string, source: string[]) => {
    const inputId = `r.${++inputs}`
    const kind = chance(80) ? 'question' : 'auth'
    parts.push({
      type: 'input.request',
      inputId,
      kind,
      message: '?',
      toolCallId,
      expiresAt,
      ...place(source)
    })
    const content = kind === 'question' && { content: 'yes' }
    if (chance(70))
      parts.push({ type: 'input.response', inputId, action: 'accept', ...content, ...place(source) })
    else parts.push({ type: 'input.response', inputId, action: 'decline', ...place(source) })
  }
  const outcome = (call: PartOf<'tool.call'>, source: string[]): void => {
    const { toolCallId, toolName } = call
    const about = { toolCallId, toolName, ...place(source) }
    if (call.runsAt === 'client') {
      const inputId = `r.${++inputs}`
      parts.push({ type: 'input.request', inputId, kind: 'tool', args: {}, expiresAt, ...about })
      parts.push({ type: 'input.response', inputId, action: 'accept', ...place(source) })
    } else if (call.providerExecuted !== true && chance(25) && !askFor(toolCallId, source)) {
      const error = { code: 'RUN_ERR_APPROVAL_DENIED', message: 'no' }
      parts.push({ type: 'tool.error', error, ...about })
      return
    } else if (chance(15)) question(toolCallId, source)
    if (chance(80)) parts.push({ type: 'tool.result', result: choose(9), durationMs: 1, ...about })
    else parts.push({ type: 'tool.error', error: { code: 'RUN_ERR_TOOL_FAILED', message: 'off' }, ...about })
  }
  const step = (index: number, source: string[]) => {
    for (let attempt = 1; ; attempt++) {
      parts.push({ type: 'step.start', index, attempt, ...place(source) })
      say(source)
      // Providers may use the same ids in each step.
      const calls = Array.from({ length: choose(3) }, (_, at): PartOf<'tool.call'> => {
        const about = { toolCallId: `call-${at}`, toolName: 'act', ...place(source) }
        if (chance(30)) parts.push({ type: 'tool.call.delta', delta: '{"a', ...about })
        if (chance(20)) parts.push({ type: 'tool.call.delta', delta: '":1}', ...about })
        const runsAt = chance(20) && { runsAt: 'client' as const }
        const executed = !runsAt && chance(10) && { providerExecuted: true as const }
        const mayAsk = !runsAt && !executed && chance(50) && { mayAsk: true as const }
        const call: PartOf<'tool.call'> = {
          type: 'tool.call',
          args: { a: 1 },
          ...about,
          ...runsAt,
          ...mayAsk,
          ...executed
        }
        parts.push(call)
        return call
      })
      // The attempt is void: a crash.
      if (attempt < 3 && chance(15)) {
        // What a member does meanwhile is not.
        if (source.length === 0 && chance(50)) member(['ada'])
        continue
      }
      parts.push({ type: 'step', index, usage, ...place(source) })
      for (const call of calls) {
        if (source.length < 2 && chance(20)) member([...source, ['ada', 'bob'][choose(2)]!])
        outcome(call, source)
      }
      return
    }
  }
  const member = (source: string[]) => {
    for (let index = 0, count = 1 + choose(2); index < count; index++) step(index, source)
    if (chance(20)) parts.push({ type: 'structured', value: { by: source }, ...place(source) })
    parts.push({ type: 'finish', finishReason: 'stop', usage, durationMs: 1, structured: null, source })
  }

  for (let index = 0, count = choose(4); index < count; index++) step(index, [])
  if (chance(50)) say([])
  if (chance(20)) parts.push({ type: 'structured', value: { ok: true } })
  if (chance(15))
    parts.push({ type: 'error', error: { code: 'RUN_ERR_FAILED', message: 'off', retryable: false } })
  else {
    const finishReason = (['stop', 'length', 'max-steps', 'canceled'] as const)[choose(4)]!
    parts.push({ type: 'finish', finishReason, usage, durationMs: 1, structured: null })
  }
  return parts.map((part, index) => ({ ...part, seq: index + 1, at: index }))
}

function place(source: string[]) {
  return source.length > 0 ? { source: [...source] } : {}
}
