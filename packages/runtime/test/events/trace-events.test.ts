import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import {
  metrics as otelMetrics,
  context as otelContext,
  SpanKind,
  SpanStatusCode,
  trace
} from '@opentelemetry/api'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader
} from '@opentelemetry/sdk-metrics'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { Type } from '@sinclair/typebox'
import { createEventBus } from '@svc/registry'
import { defineTool, traceEvents, type TelemetryOptions } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import t, { type Test } from 'tap'
import { toProviderName } from '../../src/events/trace-events.ts'
import { RunEvents } from '../../src/events/events.ts'
import { collect, makeAgent, makeContext } from '../helpers/make-agent.ts'
import { makeTeam } from '../helpers/make-team.ts'
import { makeWorkflow } from '../helpers/make-workflow.ts'

const SECRETS = /PROMPT|ANSWER|ARGS|RESULT|INSTRUCTIONS|FAULT|sk-/
const look = defineTool({
  name: 'look',
  description: 'Looks',
  input: Type.Object({ what: Type.String() }),
  execute: ({ what }) => {
    if (what === 'FAULT ARGS') throw new Error('FAULT sk-1')
    return 'RESULT'
  }
})

/** A context with a traced bus, and the recorded spans and metrics. */
async function traced(t: Test, options: Parameters<typeof makeContext>[0] = {}) {
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  const metrics = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter: metrics, exportIntervalMillis: 3_600_000 })
  const meterProvider = new MeterProvider({ readers: [reader] })
  t.teardown(() => meterProvider.shutdown())
  const { context } = makeContext(options)
  const stop = await traceEvents(context.events, { tracerProvider, meterProvider })
  return {
    context,
    stop,
    spans: () => exporter.getFinishedSpans(),
    metrics: async () => {
      await meterProvider.forceFlush()
      return metrics.getMetrics().at(-1)?.scopeMetrics[0]?.metrics ?? []
    }
  }
}

t.test("the OpenTelemetry providers fit their types, and not each other's", async () => {
  const providers: Required<TelemetryOptions> = {
    tracerProvider: trace.getTracerProvider(),
    meterProvider: otelMetrics.getMeterProvider()
  }
  const stop = await traceEvents(createEventBus(), providers)
  stop()
  // @ts-expect-error -- a meter provider makes no spans
  providers.tracerProvider = otelMetrics.getMeterProvider()
  // @ts-expect-error -- a tracer provider makes no histograms
  providers.meterProvider = trace.getTracerProvider()
})

t.test('the span of a run has its metadata', async (t) => {
  const { context, spans } = await traced(t, { metadata: { customer: 'c-17' } })
  await makeAgent('ANSWER').agent.run('PROMPT', context)
  t.equal(spans().at(-1)?.attributes['svc.run.metadata.customer'], 'c-17')
})

t.test('a run is a span, with child spans for model and tool calls', async (t) => {
  const { context, spans } = await traced(t, { sessionId: 's' })
  const model = scriptedModel([{ toolCalls: [{ toolName: 'look', args: { what: 'ARGS' } }] }, 'ANSWER'], {
    provider: 'openai.chat',
    modelId: 'gpt-5-mini'
  })
  const { agent } = makeAgent('x', { model, tools: [look], instructions: 'INSTRUCTIONS' })
  await agent.run('PROMPT', context)
  const [first, tool, second, run] = spans()
  t.strictSame(
    spans().map(({ name }) => name),
    ['chat gpt-5-mini', 'execute_tool look', 'chat gpt-5-mini', 'invoke_agent tester']
  )
  t.strictSame(run?.attributes, {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'tester',
    'gen_ai.conversation.id': 's',
    'svc.run.id': context.runId,
    'gen_ai.usage.input_tokens': 20,
    'gen_ai.usage.output_tokens': 1,
    'gen_ai.response.finish_reasons': ['stop']
  })
  t.equal(run?.kind, SpanKind.INTERNAL)
  const { 'gen_ai.response.time_to_first_chunk': firstChunk, ...attributes } = first!.attributes
  t.ok(Number(firstChunk) > 0)
  t.strictSame(attributes, {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.model': 'gpt-5-mini',
    'gen_ai.usage.input_tokens': 10,
    'gen_ai.usage.output_tokens': 0,
    'gen_ai.response.finish_reasons': ['tool-calls']
  })
  t.equal(first?.kind, SpanKind.CLIENT)
  t.match(tool?.attributes, {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'look',
    'gen_ai.tool.call.id': 'call-1',
    'gen_ai.tool.type': 'function'
  })
  for (const span of [first, tool, second])
    t.equal(span?.parentSpanContext?.spanId, run?.spanContext().spanId)
  t.notMatch(
    JSON.stringify(
      spans().map(({ attributes, events, status, name }) => ({ attributes, events, status, name }))
    ),
    SECRETS
  )
})

t.test('cached and reasoning tokens, and the model that answered', async (t) => {
  const { context, spans, metrics } = await traced(t)
  const finish = (unified: 'interrupted' | 'stop') => ({
    type: 'finish' as const,
    finishReason: { unified, raw: undefined },
    usage: {
      inputTokens: { total: 10, noCache: 1, cacheRead: 7, cacheWrite: 2 },
      outputTokens: { total: 4, text: 1, reasoning: 3 }
    }
  })
  const metadata = { type: 'response-metadata' as const, modelId: 'gpt-5-mini-2025-08-07' }
  const script = [{ parts: [finish('interrupted')] }, { parts: [metadata, finish('stop')] }]
  await makeAgent(script, { retry: { baseDelay: 1 } }).agent.run('Hi', context)
  const details = (times: number) => ({
    'gen_ai.usage.input_tokens': 10 * times,
    'gen_ai.usage.cache_read.input_tokens': 7 * times,
    'gen_ai.usage.cache_creation.input_tokens': 2 * times,
    'gen_ai.usage.output_tokens': 4 * times,
    'gen_ai.usage.reasoning.output_tokens': 3 * times
  })
  const [failed, answered, run] = spans().map(({ attributes }) => attributes)
  t.match(failed, { ...details(1), 'error.type': String })
  t.match(answered, { ...details(1), 'gen_ai.response.model': 'gpt-5-mini-2025-08-07' })
  t.match(run, details(2))
  t.match((await metrics())[0]?.dataPoints, [{ value: { sum: 10 } }, {}, { value: { sum: 10 } }, {}])
})

t.test('a summary is a span with its purpose, and a compaction is counted', async (t) => {
  const { context, spans, metrics } = await traced(t, {
    messages: [
      { role: 'user', content: 'PROMPT '.repeat(1_000) },
      { role: 'assistant', text: 'ANSWER' }
    ]
  })
  const history = { window: 2_048, compact: { keep: 2, maxSummary: 256 } }
  const { agent } = makeAgent(['ANSWER so far', 'ANSWER'], { history })
  await agent.run('PROMPT', context)
  t.strictSame(
    spans().map(({ name, attributes }) => [name, attributes['svc.model.purpose'] ?? 'model']),
    [
      ['chat scripted', 'memory'],
      ['chat scripted', 'model'],
      ['invoke_agent tester', 'model']
    ]
  )
  t.match(spans().at(-1)?.attributes, { 'gen_ai.usage.input_tokens': 20 }, 'the run has the tokens of both')
  const compactions = (await metrics()).find(
    ({ descriptor }) => descriptor.name === 'svc.context.compactions'
  )
  t.match(compactions?.dataPoints, [
    {
      value: 1,
      attributes: {
        'gen_ai.agent.name': 'tester',
        'svc.context.reason': 'size',
        'svc.context.summarised': true
      }
    }
  ])
  t.notMatch(JSON.stringify(spans().map(({ attributes, events }) => ({ attributes, events }))), SECRETS)
})

t.test('metrics of model calls', async (t) => {
  const { context, metrics } = await traced(t)
  await makeAgent({ text: ['a', 'b'] }).agent.run('Hi', context)
  await collect(makeAgent({ rejects: { statusCode: 400 } }).agent.stream('Hi', context))
  const found = await metrics()
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'scripted',
    'gen_ai.request.model': 'scripted'
  }
  t.match(found, [
    {
      descriptor: { name: 'gen_ai.client.token.usage', unit: '{token}' },
      dataPoints: [
        { attributes: { ...attributes, 'gen_ai.token.type': 'input' }, value: { sum: 10, count: 1 } },
        { attributes: { ...attributes, 'gen_ai.token.type': 'output' }, value: { sum: 2, count: 1 } }
      ]
    },
    {
      descriptor: { name: 'gen_ai.client.operation.duration', unit: 's' },
      dataPoints: [{ attributes }, { attributes: { ...attributes, 'error.type': 'RUN_ERR_MODEL_REFUSED' } }]
    },
    {
      descriptor: { name: 'gen_ai.client.operation.time_to_first_chunk', unit: 's' },
      dataPoints: [{ attributes, value: { count: 1 } }]
    }
  ])
})

t.test('metrics of runs and tool calls', async (t) => {
  const { context, metrics } = await traced(t)
  const calls = ['a', 'FAULT ARGS'].map((what) => ({ toolName: 'look', args: { what } }))
  await makeAgent([{ toolCalls: calls }, 'ANSWER'], { tools: [look] }).agent.run('Hi', context)
  await collect(makeAgent({ rejects: { statusCode: 400 } }).agent.stream('Hi', context))
  const usage = { promptTokens: 0, completionTokens: 0, totalTokens: 0 }
  new RunEvents(context, 'crew', 'team').emit('run.complete', () => ({
    sessionId: 's',
    finishReason: 'stop' as const,
    usage,
    durationMs: 2_000
  }))
  const found = new Map((await metrics()).map(({ descriptor, dataPoints }) => [descriptor.name, dataPoints]))
  t.match(found.get('gen_ai.invoke_agent.duration'), [
    { attributes: { 'gen_ai.agent.name': 'tester' }, value: { count: 1 } },
    { attributes: { 'gen_ai.agent.name': 'tester', 'error.type': 'RUN_ERR_MODEL_REFUSED' } }
  ])
  const attributes = {
    'gen_ai.tool.name': 'look',
    'gen_ai.tool.type': 'function',
    'gen_ai.agent.name': 'tester'
  }
  t.same(
    new Set(found.get('gen_ai.execute_tool.duration')?.map((point) => point.attributes)),
    new Set([attributes, { ...attributes, 'error.type': 'RUN_ERR_TOOL_FAILED' }])
  )
  t.match(found.get('gen_ai.workflow.duration'), [
    { attributes: { 'gen_ai.workflow.name': 'crew' }, value: { sum: 2, count: 1 } }
  ])
})

t.test('a failed span has an error type, but no message', async (t) => {
  const { context, spans } = await traced(t)
  const failing = { toolCalls: [{ toolName: 'look', args: { what: 'FAULT ARGS' } }] }
  const { agent } = makeAgent([failing, { rejects: { statusCode: 401, message: 'FAULT sk-2' } }], {
    tools: [look]
  })
  await collect(agent.stream('PROMPT', context))
  const types = Object.fromEntries(spans().map(({ name, attributes }) => [name, attributes['error.type']]))
  t.strictSame(types, {
    'chat scripted': 'RUN_ERR_MODEL_AUTH',
    'execute_tool look': 'RUN_ERR_TOOL_FAILED',
    'invoke_agent tester': 'RUN_ERR_MODEL_AUTH'
  })
  t.equal(spans().at(-1)?.status.code, SpanStatusCode.ERROR)
  t.notMatch(
    JSON.stringify(spans().map(({ attributes, events, status }) => ({ attributes, events, status }))),
    SECRETS
  )
})

t.test("the span of a member is a child of its team's", async (t) => {
  const { context, spans } = await traced(t)
  const team = new RunEvents(context, 'crew', 'team')
  const usage = { promptTokens: 0, completionTokens: 0, totalTokens: 0 }
  team.emit('run.start', () => ({ sessionId: 's' }))
  await Promise.all(['a', 'b'].map((name) => makeAgent('x', { name }).agent.run('Hi', context.child(name))))
  await makeAgent('x', { name: 'c' }).agent.run('Hi', context.child('deep').child('c'))
  team.emit('run.complete', () => ({ sessionId: 's', finishReason: 'stop' as const, usage, durationMs: 1 }))
  const byName = Object.fromEntries(spans().map((span) => [span.name, span]))
  const crew = byName['invoke_workflow crew']
  t.match(crew?.attributes, { 'gen_ai.operation.name': 'invoke_workflow', 'gen_ai.workflow.name': 'crew' })
  for (const name of ['a', 'b', 'c'])
    t.equal(byName[`invoke_agent ${name}`]?.parentSpanContext?.spanId, crew?.spanContext().spanId, name)
})

t.test('a call has a span around its turns, its latencies and its interruptions', async (t) => {
  const { context, spans, metrics } = await traced(t)
  const phone = new RunEvents(context, 'phone', 'agent')
  const usage = { promptTokens: 5, completionTokens: 6, totalTokens: 11 }
  const format = { type: 'audio/pcm', rate: 24_000 }
  phone.emit('run.start', () => ({ sessionId: 's' }))
  phone.emit('voice.session.start', () => ({ sessionId: 's', engine: 'cascade' as const, format }))
  await makeAgent('x', { name: 'desk' }).agent.run('Hi', context.child('turn-0', { unsourced: true }))
  phone.emit('voice.turn', () => ({
    index: 0,
    status: 'interrupted' as const,
    latency: { endpointMs: 500, firstAudioMs: 750 }
  }))
  phone.emit('voice.turn', () => ({ index: 1, status: 'failed' as const, latency: {} }))
  phone.emit('voice.interrupt', () => ({ heardMs: 100, falseAlarm: false }))
  phone.emit('voice.interrupt', () => ({ heardMs: 100, falseAlarm: true }))
  phone.emit('voice.session.end', () => ({
    sessionId: 's',
    durationMs: 1,
    turns: 2,
    interruptions: 1,
    reason: 'hangup' as const,
    usage
  }))
  phone.emit('run.complete', () => ({ sessionId: 's', finishReason: 'stop' as const, usage, durationMs: 1 }))
  const byName = Object.fromEntries(spans().map((span) => [span.name, span]))
  const parentOf = (name: string) => byName[name]?.parentSpanContext?.spanId
  const call = byName['voice_call phone']
  t.equal(parentOf('invoke_agent desk'), call?.spanContext().spanId)
  t.equal(parentOf('voice_call phone'), byName['invoke_agent phone']?.spanContext().spanId)
  t.strictSame(call?.attributes, {
    'gen_ai.operation.name': 'voice_call',
    'gen_ai.agent.name': 'phone',
    'gen_ai.conversation.id': 's',
    'gen_ai.usage.input_tokens': 5,
    'gen_ai.usage.output_tokens': 6,
    'svc.voice.engine': 'cascade',
    'svc.voice.format': 'audio/pcm',
    'svc.voice.rate': 24_000,
    'svc.voice.turns': 2,
    'svc.voice.interruptions': 1,
    'svc.voice.end_reason': 'hangup'
  })
  const found = new Map((await metrics()).map(({ descriptor, dataPoints }) => [descriptor.name, dataPoints]))
  const attributes = { 'gen_ai.agent.name': 'phone' }
  t.match(found.get('svc.voice.response.latency'), [{ attributes, value: { sum: 0.75, count: 1 } }])
  t.same(
    found.get('svc.voice.interruptions')?.map(({ attributes: each, value }) => [each, value]),
    [false, true].map((alarm) => [{ ...attributes, 'svc.voice.false_alarm': alarm }, 1])
  )
})

t.test('a call that fails leaves no span open', async (t) => {
  const { context, spans } = await traced(t)
  const phone = new RunEvents(context, 'phone', 'agent')
  const format = { type: 'audio/pcm', rate: 24_000 }
  phone.emit('run.start', () => ({ sessionId: 's' }))
  phone.emit('voice.session.start', () => ({ sessionId: 's', engine: 'cascade' as const, format }))
  const error = { code: 'X', message: 'x', retryable: false }
  phone.emit('run.error', () => ({ sessionId: 's', error, durationMs: 1 }))
  t.same(
    spans().map(({ name }) => name),
    ['voice_call phone', 'invoke_agent phone']
  )
})

t.test("a run's span is a child of the active span", async (t) => {
  const manager = new AsyncLocalStorageContextManager().enable()
  otelContext.setGlobalContextManager(manager)
  t.teardown(() => otelContext.disable())
  const { context, spans } = await traced(t)
  const outer = trace.wrapSpanContext({
    traceId: '0af7651916cd43dd8448eb211c80319c',
    spanId: 'b7ad6b7169203331',
    traceFlags: 1
  })
  await otelContext.with(trace.setSpan(otelContext.active(), outer), () =>
    makeAgent('x').agent.run('Hi', context)
  )
  t.equal(spans().at(-1)?.parentSpanContext?.spanId, 'b7ad6b7169203331')
})

t.test('an abandoned run ends its spans', async (t) => {
  const { context, spans } = await traced(t)
  const { agent } = makeAgent({ text: ['a', 'b'], delay: 5 })
  for await (const part of agent.stream('Hi', context)) if (part.type === 'text') break
  t.strictSame(
    spans().map(({ name, ended }) => [name, ended]),
    [
      ['chat scripted', true],
      ['invoke_agent tester', true]
    ]
  )
})

t.test('stop removes all listeners', async (t) => {
  const { context, spans, stop } = await traced(t)
  stop()
  await makeAgent('x').agent.run('Hi', context)
  t.equal(spans().length, 0)
  t.equal(context.events.has('run.start'), false)
})

t.test('chunks have no listener', async (t) => {
  const { context } = await traced(t)
  t.equal(context.events.has('run.stream.chunk'), false)
})

t.test('provider names', async (t) => {
  const names = {
    'openai.responses': 'openai',
    'anthropic.messages': 'anthropic',
    'google.generative-ai': 'gcp.gemini',
    'google.vertex.chat': 'gcp.vertex_ai',
    'azure-openai.chat': 'azure.ai.openai',
    'amazon-bedrock': 'aws.bedrock',
    'mistral.chat': 'mistral_ai',
    'xai.chat': 'x_ai',
    groq: 'groq'
  }
  for (const [given, name] of Object.entries(names)) t.equal(toProviderName(given), name)
})

t.test(
  "spans of members and steps are children of their caller's, even for parallel calls of one name",
  async (t) => {
    const { context, spans } = await traced(t)
    const items = ['x', 'yy', 'zzz']
    const { agent } = makeAgent(({ prompt }) => ({
      text: ['said ', 'it'],
      // The first call answers last.
      delay: 12 - 3 * lengthOf(prompt),
      usage: { promptTokens: lengthOf(prompt), completionTokens: 0 }
    }))
    const model = scriptedModel({ toolCalls: [{ toolName: 'route', args: { member: 'tester' } }] })
    const crew = makeTeam({ mode: 'route', members: [agent], model })
    await makeWorkflow((flow) =>
      flow.map(
        'each',
        () => items,
        (inner) => inner.step('ask', crew)
      )
    ).run('Go', context)
    const all = spans()
    const above = (span: (typeof all)[number]) =>
      all.find((each) => each.spanContext().spanId === span.parentSpanContext?.spanId)
    const pathOf = (span: (typeof all)[number] | undefined): string =>
      span === undefined ? '' : `${pathOf(above(span))}/${span.name.split(' ').at(-1)}`
    const counts = Object.groupBy(all.map(pathOf), (path) => path)
    t.strictSame(Object.fromEntries(Object.entries(counts).map(([path, same]) => [path, same?.length])), {
      '/flow': 1,
      '/flow/crew': 3,
      '/flow/crew/scripted': 3,
      '/flow/crew/route': 3,
      '/flow/crew/tester': 3,
      '/flow/crew/tester/scripted': 3
    })
    // Each call is a child of its own run: the tokens of a run are those of its model call.
    const tokens = (span: (typeof all)[number] | undefined) => span?.attributes['gen_ai.usage.input_tokens']
    const answers = all.filter((span) => pathOf(span) === '/flow/crew/tester/scripted')
    t.strictSame(
      answers.map(tokens).toSorted((a, b) => Number(a) - Number(b)),
      [1, 2, 3]
    )
    for (const answer of answers) t.equal(tokens(above(answer)), tokens(answer))
  }
)

function lengthOf(prompt: LanguageModelV4Prompt): number {
  const last = prompt.at(-1)
  const [part] = last?.role === 'user' ? last.content : []
  return part?.type === 'text' ? part.text.length : 0
}
