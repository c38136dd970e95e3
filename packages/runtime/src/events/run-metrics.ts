import type { Attributes, Histogram, MeterProvider } from '@opentelemetry/api'
import type { EventBus } from '@svc/contract'
import type { RuntimeEvents } from './events.ts'

type Run = Pick<RuntimeEvents['run.start'], 'kind' | 'name'>
type Call = Pick<RuntimeEvents['tool.result'], 'kind' | 'name' | 'toolName'>
interface Ended {
  durationMs: number
  error?: { code: string }
}

// Bucket boundaries of the GenAI semantic conventions.
const AGENT_BUCKETS = Array.from({ length: 13 }, (_, power) => 2 ** power / 10)
const WORKFLOW_BUCKETS = [1, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200]
const TOOL_BUCKETS = Array.from({ length: 14 }, (_, power) => 2 ** power / 100)

/** Records durations of the runs and tool calls on a bus until the returned function is called. */
export function recordRuns(bus: EventBus, provider: MeterProvider): () => void {
  const meter = provider.getMeter('@svc/runtime')
  const seconds = (name: string, description: string, explicitBucketBoundaries: number[]) =>
    meter.createHistogram(name, { description, unit: 's', advice: { explicitBucketBoundaries } })
  const agents = seconds(
    'gen_ai.invoke_agent.duration',
    'Duration of an invocation of an agent',
    AGENT_BUCKETS
  )
  const others = seconds('gen_ai.workflow.duration', 'Duration of a workflow', WORKFLOW_BUCKETS)
  const tools = seconds('gen_ai.execute_tool.duration', 'Duration of a tool execution', TOOL_BUCKETS)

  const endRun = (event: Run & Ended) => {
    if (event.kind === 'agent') record(agents, event, { 'gen_ai.agent.name': event.name })
    else record(others, event, { 'gen_ai.workflow.name': event.name })
  }
  const endCall = (event: Call & Ended) =>
    record(tools, event, {
      'gen_ai.tool.name': event.toolName,
      'gen_ai.tool.type': 'function',
      ...(event.kind === 'agent' && { 'gen_ai.agent.name': event.name })
    })

  const stops = [
    bus.on('run.complete', endRun),
    bus.on('run.error', endRun),
    bus.on('tool.result', endCall),
    bus.on('tool.error', endCall)
  ]
  return () => {
    for (const stop of stops) stop()
  }
}

function record(histogram: Histogram, { durationMs, error }: Ended, attributes: Attributes): void {
  histogram.record(durationMs / 1000, error ? { ...attributes, 'error.type': error.code } : attributes)
}
