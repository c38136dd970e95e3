import { hrefOf } from '../../app/router.ts'
import { cleanLine } from '../../components/clean-text.ts'
import { Empty } from '../../components/notice.tsx'
import { formatDuration, now } from '../../components/time.tsx'
import { WindowedList } from '../../components/windowed-list.tsx'
import type { LogModel, Span } from '../../models/log-model.ts'

const ROW = 34
const KINDS = { member: 'member', step: 'model', tool: 'tool', wait: 'waits' } as const

/** The spans of a run, each where it was in time: in the order in which they began, those of a member below it. */
export function Timeline({ log, runId, isOver }: { log: LogModel; runId: string; isOver: boolean }) {
  void log.version.value
  const { from = 0, to = 0 } = log
  const spans = log.hasMembers ? [...Map.groupBy(log.spans, rowOf).values()].flat() : log.spans
  const end = isOver ? to : Math.max(to, now.value)
  if (spans.length === 0)
    return (
      <Empty icon="runs" title={isOver ? 'No steps' : 'No steps yet'}>
        <p>The run has called no model and no tool.</p>
      </Empty>
    )
  const whole = Math.max(1, end - from)
  return (
    <div class="timeline">
      <div class="timeline-scale" aria-hidden="true">
        {[0, 0.25, 0.5, 0.75, 1].map((share) => (
          <span key={share}>{formatDuration(whole * share)}</span>
        ))}
      </div>
      <WindowedList
        label="Timeline"
        count={spans.length}
        rowHeight={ROW}
        keyOf={(at) => spans[at]!.id}
        row={(at) => <SpanRow span={spans[at]!} runId={runId} from={from} end={end} whole={whole} />}
      />
    </div>
  )
}

const rowOf = ({ kind, label, id, source: [member = kind === 'member' ? label : id] }: Span) => member

function SpanRow({
  span,
  runId,
  from,
  end,
  whole
}: {
  span: Span
  runId: string
  from: number
  end: number
  whole: number
}) {
  const { kind, label, source, state, seq } = span
  const to = span.to ?? end
  const share = (at: number) => `${Math.min(100, Math.max(0, ((at - from) / whole) * 100))}%`
  const length = Math.max(0, to - span.from)
  return (
    <a
      class="span"
      data-kind={kind}
      data-state={state}
      href={hrefOf(['run', runId], { tab: 'parts', seq: String(seq) })}
    >
      <span class="span-label" style={{ paddingLeft: `${Math.min(source.length, 6) * 14}px` }}>
        <span class="visually-hidden">{KINDS[kind]} </span>
        <bdi class="ellipsis">{cleanLine(label, 120)}</bdi>
      </span>
      <span class="span-track" aria-hidden="true">
        <span
          class="span-bar"
          style={{ left: share(span.from), width: `max(3px, ${(length / whole) * 100}%)` }}
        />
        {span.firstAt !== undefined && <span class="span-first" style={{ left: share(span.firstAt) }} />}
      </span>
      <span class="span-length">
        {state === 'open' ? '… ' : ''}
        {formatDuration(length)}
        {state === 'failed' && <span class="visually-hidden">, failed</span>}
        {state === 'void' && <span class="visually-hidden">, void</span>}
      </span>
    </a>
  )
}
