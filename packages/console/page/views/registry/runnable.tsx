import type { RunnableMetadata } from '@svc/contract'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { getRunnable, startRun, type RunnableRef } from '../../api/resources.ts'
import { hrefOf } from '../../app/router.ts'
import { cleanLine, cleanText } from '../../components/clean-text.ts'
import { Details, Fact, Facts, Icon, Status } from '../../components/elements.tsx'
import { Items } from '../../components/items/items.tsx'
import { JsonTree } from '../../components/json-tree.tsx'
import { ErrorNotice, StreamNotice } from '../../components/notice.tsx'
import { SchemaForm } from '../../components/schema-form/schema-form.tsx'
import { useLoad } from '../../components/hooks.ts'
import { WatchedRun } from '../../models/watched-run.ts'

/** A form that starts one run, and what it says. */
function TryIt({ runnable, schema }: { runnable: RunnableRef; schema: unknown }) {
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

/** One agent, team or workflow: what it says of itself, its schemas, and a form to try it. */
export function Runnable({ runnable }: { runnable: RunnableRef }) {
  const { kind, name } = runnable
  const { value, error, reload } = useLoad((signal) => getRunnable(runnable, { signal }), [kind, name])
  return (
    <>
      <header class="view-head">
        <a class="button quiet icon" href={hrefOf(['registry'])} aria-label="All that is served">
          <Icon name="back" />
        </a>
        <h1 class="ellipsis">{cleanLine(name, 100)}</h1>
        <span class="hint">{kind}</span>
        <div class="row end">
          <a class="button" href={hrefOf(['talk', kind, name])}>
            <Icon name="talk" /> Talk
          </a>
        </div>
      </header>
      <div class="view-body stack">
        {error !== undefined && <ErrorNotice error={error} onRetry={reload} />}
        {value !== undefined && (
          <>
            <About metadata={value} />
            <section class="card stack">
              <h2>Try it</h2>
              <TryIt runnable={runnable} schema={value.input} />
            </section>
          </>
        )}
      </div>
    </>
  )
}

function About({ metadata }: { metadata: RunnableMetadata }) {
  const { description, model, members, steps, skills, voice, egress, tools = [], input, output } = metadata
  return (
    <section class="card stack">
      {description !== undefined && <p>{cleanText(description)}</p>}
      <Facts>
        {model !== undefined && <Fact name="Model">{cleanLine(model, 100)}</Fact>}
        {voice !== undefined && <Fact name="Voice">{voice}</Fact>}
        {egress !== undefined && <Fact name="Browser">{egress}</Fact>}
        {members !== undefined && <Fact name="Members">{cleanLine(members.join(', '), 400)}</Fact>}
        {steps !== undefined && <Fact name="Steps">{cleanLine(steps.join(', '), 400)}</Fact>}
        {skills !== undefined && (
          <Fact name="Skills">{cleanLine(skills.map((skill) => skill.name).join(', '), 400)}</Fact>
        )}
      </Facts>
      {input !== undefined && <JsonTree value={input} label="schema of the input" />}
      {output !== undefined && <JsonTree value={output} label="schema of the output" />}
      {tools.map((tool) => (
        <Details
          key={tool.name}
          summary={
            <>
              <Icon name="tool" /> <code class="ellipsis">{cleanLine(tool.name, 100)}</code>
              <span class="ellipsis">{cleanLine(tool.description)}</span>
            </>
          }
        >
          {() => (
            <>
              <p>{cleanText(tool.description)}</p>
              {tool.input !== undefined && <JsonTree value={tool.input} label="schema of the arguments" />}
            </>
          )}
        </Details>
      ))}
    </section>
  )
}
