import { useMemo } from 'preact/hooks'
import { cleanLine } from '../../components/clean-text.ts'
import { Details } from '../../components/elements.tsx'
import { JsonTree } from '../../components/json-tree.tsx'
import { ErrorNotice } from '../../components/notice.tsx'
import { useGradually, useLoad } from '../../components/hooks.ts'
import { formatCount } from '../../components/time.tsx'
import type { LogModel } from '../../models/log-model.ts'
import { otherWires, type OtherWire } from '../../models/other-wires.ts'
import type { RunModel } from '../../models/run-model.ts'
import './wires.css'

/** Parts of our own log that are shown beside those of the other wires. */
const MAX_PARTS = 1_000

/** The same run as each wire tells it, side by side. */
export function RunWires({ run, log }: { run: RunModel; log: LogModel }) {
  void run.version.value
  const { start, isOver } = run
  const wires = useMemo(() => otherWires(run), [start])
  if (start === undefined) return null
  return (
    <div class="run-wires" tabIndex={0} role="region" aria-label="Wires">
      <Told name="Log" messages={log.parts.slice(0, MAX_PARTS)} />
      {isOver ? (
        wires.map((wire) => <Wire key={wire.name} wire={wire} />)
      ) : (
        <p class="hint">The other wires are read once the run is over.</p>
      )}
    </div>
  )
}

function Wire({ wire: { name, read } }: { wire: OtherWire }) {
  const told = useLoad(async (signal) => read?.(signal), [name])
  if (read === undefined || told.error !== undefined)
    return (
      <section class="stack">
        <h2>{name}</h2>
        {told.error === undefined ? (
          <p class="hint">The service does not say where this wire is.</p>
        ) : (
          <ErrorNotice error={told.error} onRetry={told.reload} />
        )}
      </section>
    )
  return <Told name={name} messages={told.value} />
}

function Told({ name, messages }: { name: string; messages: readonly unknown[] | undefined }) {
  const count = useGradually(messages?.length ?? 0)
  return (
    <section class="stack" aria-busy={messages === undefined}>
      <h2>
        {name} {messages !== undefined && <span class="hint">{formatCount(messages.length)}</span>}
      </h2>
      <ol>
        {messages?.slice(0, count).map((message, at) => (
          <li key={at}>
            <Details summary={<code class="ellipsis">{titleOf(message)}</code>}>
              {() => <JsonTree value={message} label={`${name} ${at + 1}`} />}
            </Details>
          </li>
        ))}
      </ol>
    </section>
  )
}

// Events have a type; what has none is a whole: a task.
function titleOf(message: unknown): string {
  const { type = 'task', delta, text, toolName, toolCallName } = message as Record<string, unknown>
  return cleanLine([type, delta ?? text ?? toolName ?? toolCallName].filter(isText).join(' '), 60)
}

const isText = (value: unknown) => typeof value === 'string'
