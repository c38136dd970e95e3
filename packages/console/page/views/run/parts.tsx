import { useEffect, useState } from 'preact/hooks'
import type { StreamedPart } from '../../models/run-items.ts'
import { cleanLine } from '../../components/clean-text.ts'
import { Icon } from '../../components/elements.tsx'
import { JsonTree } from '../../components/json-tree.tsx'
import { formatDuration } from '../../components/time.tsx'
import { WindowedList } from '../../components/windowed-list.tsx'
import type { LogModel } from '../../models/log-model.ts'

const ROW = 32

/** Every part of a run as the log has it; the one that is selected, as a tree. */
export function Parts({ log, selected }: { log: LogModel; selected: number | undefined }) {
  void log.version.value
  const [seq, setSeq] = useState(selected)
  useEffect(() => setSeq(selected), [selected])
  const { parts, from = 0 } = log
  const shown = seq === undefined ? undefined : partAt(parts, seq)
  return (
    <div class={shown === undefined ? 'parts' : 'parts split'}>
      <WindowedList
        label="Parts"
        count={parts.length}
        rowHeight={ROW}
        keyOf={(at) => parts[at]!.seq!}
        row={(at) => (
          <Row part={parts[at]!} from={from} isSelected={parts[at]!.seq === seq} onSelect={setSeq} />
        )}
        scrollTo={selected === undefined ? undefined : selected - 1}
      />
      {shown !== undefined && (
        <section class="part-detail" aria-label={`Part ${shown.seq}`} tabIndex={0}>
          <div class="row">
            <h2>Part {shown.seq}</h2>
            <button
              type="button"
              class="button quiet icon end"
              aria-label="Close"
              onClick={() => setSeq(undefined)}
            >
              <Icon name="cross" />
            </button>
          </div>
          <JsonTree key={shown.seq} value={shown} label="part" open={4} />
        </section>
      )}
    </div>
  )
}

// Parts count from 1 without gaps, unless the log is cut.
function partAt(parts: readonly StreamedPart[], seq: number): StreamedPart | undefined {
  const guess = parts[seq - 1]
  return guess?.seq === seq ? guess : parts.find((part) => part.seq === seq)
}

function Row({
  part,
  from,
  isSelected,
  onSelect
}: {
  part: StreamedPart
  from: number
  isSelected: boolean
  onSelect: (seq: number) => void
}) {
  return (
    <button type="button" class="part-row" aria-pressed={isSelected} onClick={() => onSelect(part.seq!)}>
      <span class="part-seq">{part.seq}</span>
      <span class="part-at">+{formatDuration(Math.max(0, (part.at ?? from) - from))}</span>
      <span class="part-type">{cleanLine(part.type, 40)}</span>
      <bdi class="ellipsis">{summaryOf(part)}</bdi>
    </button>
  )
}

/** What tells parts of a type from each other, in one line. */
function summaryOf(part: StreamedPart): string {
  const source = part.source?.length ? `${part.source.join(' › ')}: ` : ''
  return cleanLine(source + textOf(part), 160)
}

function textOf(part: StreamedPart): string {
  if ('text' in part && typeof part.text === 'string') return part.text.slice(0, 320)
  if ('delta' in part) return part.delta.slice(0, 320)
  if ('toolName' in part && part.toolName !== undefined) return part.toolName
  if ('approved' in part) return part.approved ? 'approved' : 'denied'
  if ('action' in part) return part.action
  if ('error' in part) return part.error.message
  if ('message' in part) return part.message ?? ''
  if ('name' in part) return part.name
  if ('index' in part) return String(part.index)
  return 'finishReason' in part ? (part.finishReason ?? '') : ''
}
