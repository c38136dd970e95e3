import { useState } from 'preact/hooks'
import { describeError } from '../api/client.ts'
import { answerApproval, getApproval } from '../api/resources.ts'
import { announce } from '../app/announcer.tsx'
import { cleanLine } from './clean-text.ts'
import { Icon } from './elements.tsx'
import { JsonTree } from './json-tree.tsx'
import { ErrorNotice } from './notice.tsx'
import { JsonField } from './schema-form/schema-form.tsx'
import { Left } from './time.tsx'
import { useLoad } from './hooks.ts'
import './answer-card.css'

/** An approval that a run waits for. */
export interface AskedApproval {
  readonly approvalId: string
  readonly toolName: string
  /** Undefined if they are large: then they are read when the card is shown. */
  readonly args?: unknown
  readonly expiresAt: string
}

/** Asks the visitor whether a tool may be called, with arguments that can be edited. */
export function ApprovalCard({ asked, onAnswered }: { asked: AskedApproval; onAnswered?: () => void }) {
  const { approvalId, toolName, expiresAt } = asked
  const whole = useLoad(
    async (signal) => (asked.args === undefined ? await getApproval(approvalId, { signal }) : asked),
    [approvalId]
  )
  const [edited, setEdited] = useState<unknown>()
  const [isEditing, setEditing] = useState(false)
  const [reason, setReason] = useState('')
  const [state, setState] = useState<{ isBusy: boolean; error?: unknown }>({ isBusy: false })
  const args = whole.value?.args
  const id = `approval-${approvalId}`

  const answer = async (approved: boolean) => {
    setState({ isBusy: true })
    try {
      const isChanged = approved && isEditing && edited !== undefined
      await answerApproval(approvalId, {
        approved,
        ...(isChanged && { args: edited as Record<string, unknown> }),
        ...(!approved && reason.trim() !== '' && { reason: reason.trim() })
      })
      announce(approved ? 'Approved' : 'Denied')
      onAnswered?.()
    } catch (error) {
      announce(describeError(error))
      setState({ isBusy: false, error })
    }
  }
  const submit = (event: Event) => {
    event.preventDefault()
    void answer(true)
  }
  return (
    <form class="answer-card" aria-labelledby={id} onSubmit={submit}>
      <h2 id={id}>
        <Icon name="ask" />
        <span>
          Allow <code>{cleanLine(toolName, 100)}</code>?
        </span>
        <span class="hint">
          <Left until={expiresAt} /> left
        </span>
      </h2>
      {whole.error !== undefined && <ErrorNotice error={whole.error} onRetry={whole.reload} />}
      {isEditing ? (
        <div class="field">
          <label for={`${id}-args`}>Arguments</label>
          <JsonField id={`${id}-args`} value={args} onChange={setEdited} isRequired />
        </div>
      ) : (
        args !== undefined && <JsonTree value={args} label="arguments" />
      )}
      {state.error !== undefined && <ErrorNotice error={state.error} />}
      <div class="row">
        <button type="submit" class="button primary" disabled={state.isBusy || args === undefined}>
          <Icon name="check" /> Approve
        </button>
        <button
          type="button"
          class="button danger"
          disabled={state.isBusy}
          onClick={() => void answer(false)}
        >
          <Icon name="cross" /> Deny
        </button>
        <button
          type="button"
          class="button quiet"
          aria-pressed={isEditing}
          onClick={() => setEditing(!isEditing)}
        >
          Edit arguments
        </button>
        <input
          class="input reason"
          aria-label="Reason, if you deny"
          placeholder="Reason, if you deny"
          maxLength={4096}
          value={reason}
          onInput={({ currentTarget }) => setReason(currentTarget.value)}
        />
      </div>
    </form>
  )
}
