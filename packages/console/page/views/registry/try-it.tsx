import { useEffect, useMemo, useState } from 'preact/hooks'
import { startRun, type RunnableRef } from '../../api/resources.ts'
import { hrefOf } from '../../app/router.ts'
import { Icon } from '../../components/icon.tsx'
import { Items } from '../../components/items/items.tsx'
import { ErrorNotice } from '../../components/notice.tsx'
import { SchemaForm } from '../../components/schema-form/schema-form.tsx'
import { Status } from '../../components/status.tsx'
import { StreamNotice } from '../../components/stream-notice.tsx'
import { WatchedRun } from '../../models/watched-run.ts'

/** A form that starts one run, and what it says. */
export function TryIt({ runnable, schema }: { runnable: RunnableRef; schema: unknown }) {
  const [input, setInput] = useState<unknown>(schema === undefined ? '' : undefined)
  const [state, setState] = useState<{ isBusy?: boolean; error?: unknown; runId?: string }>({})
  const submit = (event: Event) => {
    event.preventDefault()
    setState({ isBusy: true })
    startRun(runnable, { input }, crypto.randomUUID()).then(
      ({ runId }) => setState({ runId }),
      (error: unknown) => setState({ error })
    )
  }
  return (
    <>
      <form class="stack" onSubmit={submit}>
        {schema === undefined ? (
          <textarea
            class="input"
            rows={3}
            aria-label="Input"
            maxLength={100_000}
            value={input as string}
            onInput={({ currentTarget }) => setInput(currentTarget.value)}
          />
        ) : (
          <SchemaForm schema={schema} value={input} onChange={setInput} label="Input" />
        )}
        <div class="row">
          <button type="submit" class="button primary" disabled={state.isBusy || input === ''}>
            Run
          </button>
        </div>
      </form>
      {state.error !== undefined && <ErrorNotice error={state.error} />}
      {state.runId !== undefined && <Tried key={state.runId} runId={state.runId} />}
    </>
  )
}

function Tried({ runId }: { runId: string }) {
  const watched = useMemo(() => new WatchedRun(runId), [runId])
  useEffect(() => {
    watched.follow()
    return () => watched.close()
  }, [watched])
  const { run, stream, fault } = watched
  void run.version.value
  return (
    <div class="stack" aria-live="polite">
      <p class="row">
        <Status status={run.status} />
        <a href={hrefOf(['run', runId])}>
          Open the run <Icon name="right" />
        </a>
      </p>
      {fault.value !== undefined && <ErrorNotice error={fault.value} />}
      <Items items={run.items} runId={runId} isOver={run.isOver} />
      <StreamNotice state={stream.value} />
    </div>
  )
}
