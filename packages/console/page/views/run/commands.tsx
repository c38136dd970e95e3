import { cleanText } from '../../components/clean-text.ts'
import { CopyButton } from '../../components/copy-button.tsx'
import { logAsCurl, startAsCurl } from '../../models/as-curl.ts'
import type { RunModel } from '../../models/run-model.ts'

/** The run as commands for a shell. */
export function Commands({ run }: { run: RunModel }) {
  void run.version.value
  const start = startAsCurl(run)
  return (
    <div class="view-body stack commands">
      <Command title="Start such a run" text={start} />
      {start === undefined && <p class="hint">The input of this run is not recorded, or has files.</p>}
      <Command title="Read its log, and follow it" text={logAsCurl(run.runId)} />
    </div>
  )
}

function Command({ title, text }: { title: string; text: string | undefined }) {
  return (
    <section class="stack">
      <div class="row">
        <h2>{title}</h2>
        {text !== undefined && <CopyButton text={text} label={`Copy: ${title}`} />}
      </div>
      {text !== undefined && (
        <pre tabIndex={0} role="group" aria-label={title}>
          <code>{cleanText(text)}</code>
        </pre>
      )}
    </section>
  )
}
