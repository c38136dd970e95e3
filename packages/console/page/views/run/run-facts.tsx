import { cleanLine } from '../../components/clean-text.ts'
import { CopyButton } from '../../components/copy-button.tsx'
import { Fact, Facts } from '../../components/facts.tsx'
import { formatCount, formatDuration, formatTime, now } from '../../components/time.tsx'
import type { LogModel } from '../../models/log-model.ts'
import type { RunModel } from '../../models/run-model.ts'

/** What is known of a run at a glance. */
export function RunFacts({ run, log }: { run: RunModel; log: LogModel }) {
  void run.version.value
  const { runId, start, startedAt, endedAt, isOver, finish, usage } = run
  const firstToken = log.spans.find(({ firstAt }) => firstAt !== undefined)
  const end = endedAt ?? (isOver ? startedAt : now.value)
  return (
    <Facts>
      {startedAt !== undefined && <Fact name="Started">{formatTime(startedAt)}</Fact>}
      {startedAt !== undefined && end !== undefined && (
        <Fact name="Duration">{formatDuration(Math.max(0, end - startedAt))}</Fact>
      )}
      {firstToken !== undefined && (
        <Fact name="First token">{formatDuration(firstToken.firstAt! - firstToken.from)}</Fact>
      )}
      {usage !== undefined && (
        <Fact name="Tokens">
          {formatCount(usage.promptTokens)} in, {formatCount(usage.completionTokens)} out
        </Fact>
      )}
      {finish !== undefined && <Fact name="Finished">{cleanLine(finish.finishReason, 40)}</Fact>}
      <Fact name="Parts">{formatCount(log.parts.length)}</Fact>
      {Object.entries(start?.metadata ?? {}).map(([key, value]) => (
        <Fact key={key} name={cleanLine(key, 40)}>
          {cleanLine(value, 80)}
        </Fact>
      ))}
      <Fact name="Id">
        <code class="ellipsis">{cleanLine(runId, 60)}</code>
        <CopyButton text={runId} label="Copy the id" />
      </Fact>
    </Facts>
  )
}
