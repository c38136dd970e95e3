import type { RunnableMetadata } from '@svc/contract'
import { getRunnable, type RunnableRef } from '../../api/resources.ts'
import { hrefOf } from '../../app/router.ts'
import { cleanLine, cleanText } from '../../components/clean-text.ts'
import { Details } from '../../components/details.tsx'
import { Fact, Facts } from '../../components/facts.tsx'
import { Icon } from '../../components/icon.tsx'
import { JsonTree } from '../../components/json-tree.tsx'
import { ErrorNotice } from '../../components/notice.tsx'
import { useLoad } from '../../components/use-load.ts'
import { TryIt } from './try-it.tsx'

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
